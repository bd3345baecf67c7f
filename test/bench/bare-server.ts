import { createServer } from "node:http";

/** The floor of the webhook benchmark: a server that reads each body and answers 202. Says its port, then serves. */
const server = createServer((request, response) => {
  request.resume().on("end", () => response.writeHead(202).end("{}"));
});

server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) console.log(address.port);
});
