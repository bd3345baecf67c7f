/** A program of its own that starts a broker, tells its parent of it, and waits to be killed. */
import { KafkaBroker } from "./broker.ts";

const broker = await KafkaBroker.start();
process.send?.({ pid: broker.pid, folder: broker.folder });
