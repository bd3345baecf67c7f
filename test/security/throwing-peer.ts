import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { entryPoint } from "../../engine/system/entry-point.ts";

/**
 * Starts threads of pipelines with a library that throws when a server answers: in a listener of its socket, where
 * nothing catches it. It stands for every such fault that is not known yet. `ports`: of the servers to which it does so;
 * `text`: of its exception.
 */
export function throwingThreads(ports: readonly number[], text = "unreadable answer"): () => Worker {
  const code = `
    const { Socket } = require("node:net");
    const { connect } = Socket.prototype;
    Socket.prototype.connect = function (...args) {
      const [first] = args.flat();
      const ports = ${JSON.stringify(ports)};
      if (ports.includes(Number(first?.port))) this.once("data", () => { throw new Error(${JSON.stringify(text)}); });
      return connect.apply(this, args);
    };
    void import(${JSON.stringify(pathToFileURL(entryPoint("thread")).href)});
  `;
  return () => new Worker(code, { eval: true });
}
