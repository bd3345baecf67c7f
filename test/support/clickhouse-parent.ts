/** A program of its own that starts an embedded ClickHouse, tells its parent where it is, and waits to be killed. */
import { EmbeddedClickHouse } from "../../engine/embedded-clickhouse/embedded-clickhouse.ts";
import { silent } from "./clickhouse.ts";

const embedded = await EmbeddedClickHouse.start({ dataDir: process.argv[2] ?? "", log: silent, tcp: true });
await embedded.query("CREATE TABLE IF NOT EXISTS t (id Int64) ENGINE = MergeTree ORDER BY id");
await embedded.query("INSERT INTO t VALUES (1)");
const running = embedded.query("SELECT sleepEachRow(1) FROM numbers(100) SETTINGS max_block_size = 1");
process.send?.({ port: Number(new URL(embedded.url).port), pid: embedded.pid });
await running;
