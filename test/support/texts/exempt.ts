/** Sentences of the rooms that speak which are no text of a dead letter or a pause, or which no case makes, each with why. */
type Exempt = Readonly<Record<string, readonly string[]>>;

const exempt: Readonly<Record<string, Exempt>> = {
  "it says that code of Sluice is wrong, and no event or server makes it": {
    "batch/compiled-pipeline.ts": ["expected a pipeline with transforms for events of any origin"],
    "delivery/sender.ts": ['expected the steps after "…" to lead on'],
    "event/event.ts": ["expected an event with the bytes that were received"],
    "expression/compile/compile.ts": [
      "internal error of the evaluator: please report the expression",
      "function … passed the check and does not exist",
    ],
    "expression/compile/frame.ts": ["# is defined only in the predicate of a function such as filter or map"],
    "expression/compile/loops.ts": ["… passed the check and cannot run"],
    "expression/evaluation.ts": ["…: expected an event that is a JSON object", "the evaluation broke off: …"],
    "expression/values/patterns.ts": ["unknown reason"],
    "keys/fingerprint.ts": ["secret of fingerprints: expected … bytes, found …"],
    "keys/key-reader.ts": ["expected an event without a key, found one with all of its fields"],
    "sinks/clickhouse/encode/json-converter.ts": ["expected another value, got …"],
    "sinks/clickhouse/encode/row-encoders.ts": ["expected fields that feed the sink, found none"],
    "workers/check.ts": ["expected a join that is only compiled"],
    "workers/host.ts": ["pipeline … does not run"],
    "workers/joined.ts": ["pipeline …: expected a join"],
    "workers/pool.ts": [
      "pipeline … runs already: expected it to have left before it is started",
      "pipeline … does not run",
    ],
    "workers/supervisor.ts": ["a running pipeline is started: expected it to be at rest"],
    "sources/kafka/open.ts": ["pipeline …: expected a source of type kafka"],
  },
  "a file with it is refused before it runs": {
    "expression/filter.ts": ["the expression is blank"],
    "expression/stateless.ts": ["the expression is blank", "unknown output_type …: expected one of …"],
    "expression/values/compile-budget.ts": [
      "the patterns are too large together: expected at most … instructions with their repetitions written out, found more",
    ],
    "expression/functions/catalog.ts": ["a number or an array of numbers"],
    "sinks/clickhouse/encode/row-column.ts": [
      'mapping of field "…" to column "…": the schema that feeds the sink has no such field',
    ],
    "sinks/clickhouse/encode/row-encoder.ts": ["sink.mapping: expected at least one entry, got none"],
    "sources/kafka/kind.ts": [
      "one connection to Kafka for all sources",
      "topics with different names where the sides of a join have two connections",
      "another mechanism than GSSAPI, for which this version has no client",
    ],
    "peers/targets.ts": [
      'expected a name, an address or a range, found "…"',
      'expected a range such as 10.0.0.0/8, found "…"',
    ],
    "workers/compile.ts": [
      "pipeline …: expected the same transforms for both sides of the join, as both read …",
      "pipeline …: expected the source … of its join",
      "pipeline …: expected …",
    ],
  },
  "it is a word of code, a pattern or a format": {
    "delivery/protocol.ts": [
      "as recorded",
      "by its own revision",
      "processed anew",
      "goes on, compacted",
      "goes on, skipped",
    ],
    "delivery/recovery.ts": ["as recorded", "processed anew", "goes on, compacted", "goes on, skipped"],
    "event/field-path.ts": ["return record[…];", "…: values[…]", "return { … };", '"use strict"; …'],
    "expression/compile/operations.ts": ["not foldable"],
    "expression/functions/times.ts": [
      "02 Jan 06 15:04 MST",
      "Monday, 02-Jan-06 15:04:05 MST",
      "Mon, 02 Jan 2006 15:04:05 MST",
    ],
    "expression/functions/web-helpers.ts": ["mac os"],
    "expression/values/layout-pieces.ts": [
      "January February March April May June July August September October November December",
      "Sunday Monday Tuesday Wednesday Thursday Friday Saturday",
    ],
    "sinks/clickhouse/encode/direct-write.ts": [
      "bool Bool",
      "int Int",
      "int UInt",
      "uint Int",
      "uint UInt",
      "int Float",
      "uint Float",
      "float Float",
    ],
    "sinks/clickhouse/transport/sql.ts": ["no object"],
    "state/preallocation.ts": ["no space left on the disk"],
    "workers/pool.ts": ["set back", "give up"],
    "workers/protocol.ts": ["set back", "give up"],
    "workers/remote.ts": ["set back", "give up"],
  },
  "it is a statement": {
    "sinks/clickhouse/insert/probe.ts": ["FUNCTION null(…)"],
    "sinks/clickhouse/target/table.ts": [
      "database, name, toString(uuid) AS uuid, engine, engine_full, partition_key, create_table_query, dependencies_database, dependencies_table",
    ],
    "sinks/clickhouse/target/target-reader.ts": [
      ", (SELECT [max(highest), sum(highest + 1)] FROM (…)) AS blocks",
      ", (SELECT groupArray([partition_id, toString(highest + 1)]) FROM (…)) AS partitions",
      " FROM system.tables WHERE database IN (…) AND name IN (…)",
    ],
  },
  "it is a log line, or the reason of a rule in the code": {
    "sinks/clickhouse/sink.ts": [
      "Created the target table.",
      "Added the columns that the target table lacked.",
      "Guessed the HTTP port of ClickHouse.",
    ],
    "sinks/clickhouse/transport/endpoint.ts": [
      "connection_params.port … is the port of the native protocol; using … for HTTP. Set http_port to choose it explicitly.",
    ],
    "sinks/clickhouse/transport/failures.ts": [
      "no such column: names are resolved before the first block is read",
      "unknown identifier: likewise",
      "unknown table: likewise",
      "unknown database: likewise",
      "a syntax error: the statement is parsed first",
      "an unknown format: likewise",
      "an unknown setting: settings are applied before the statement runs",
      "a setting that the profile forbids: likewise",
      "a user or server that only reads: rights are checked before the statement runs",
      "no access to the database: likewise",
      "a missing right: likewise",
      "an unknown user: the login comes before the statement",
      "a wrong password: likewise",
      "a missing password: likewise",
      "an address that may not log in: likewise",
      "a failed login: likewise",
    ],
    "sources/kafka/brokers/connection.ts": ["Kafka client."],
    "sources/kafka/connections.ts": ["Kafka at …"],
    "sources/kafka/kafka-source.ts": [
      "The limits.memory of the sources leaves less than one fetch: one batch of messages is fetched at a time.",
    ],
  },
  "it answers a call or a command": {
    "core/errors.ts": ["pipeline … is being recreated, and nothing is stored: send the request again later"],
    "core/lifecycle.ts": [
      "pipeline … is already …",
      "pipeline … is …: wait until that has ended, then … it",
      "pipeline … is …: it cannot go to …, only to …",
    ],
    "delivery/pipeline.ts": ["the pipeline stops: reprocess the letters when it runs again"],
    "flow/waiting-line.ts": [
      "the sender has gone before its request had its turn: nothing of it is stored",
      "too much is waiting: this request had no turn in time, and nothing of it is stored; send it again later",
    ],
    "sources/kafka/check.ts": ["Kafka: …", "Kafka: the brokers did not answer in time"],
    "sources/kafka/sample.ts": ["Kafka: …"],
    "workers/check.ts": ["expected an answer within … s, found none: ask again, or for fewer events"],
    "workers/pool.ts": ["the thread died: …"],
  },
  "it ends a run, and the next start goes on": {
    "batch/reader.ts": ["the pipeline leaves"],
    "delivery/in-flight.ts": ["an earlier batch was given up"],
    "delivery/pauses.ts": ["the pipeline leaves"],
    "delivery/released-duplicates.ts": ["the pipeline leaves"],
    "sinks/clickhouse/transport/connection.ts": ["aborted before it was sent", "aborted while it ran"],
    "workers/pool.ts": ["the process ends", "the thread ended"],
    "workers/runner.ts": [
      "the process ends",
      "there is no pipeline …",
      "the pipeline was ended while it was being started",
    ],
    "workers/supervisor.ts": [
      "not started",
      "the pipeline ended without a stop",
      "the pipeline was ended while it was being started",
      "it ended before it had started",
    ],
  },
  "its pipeline fails, or the process does not start": {
    "join/log-reading.ts": ["…: the part at byte … is damaged: restore the folder"],
    "sources/kafka/clusters/clusters.ts": [
      "the connections of its sources lead to one Kafka cluster, …: give all sources the same connection_params",
    ],
    "state/compaction.ts": ["the disk of the data dir has no room to upgrade its store: make room, and start again"],
    "state/data-dir.ts": [
      "data dir … has format …, and this Sluice reads formats … to …: ",
      "let the Sluice that wrote it write what is pending, then start this one with another --data-dir",
      "lies on a file system that is read-only: mount it for writing",
      "may not be read and written by this user: correct owner and mode of it and of the folders above",
      "is not a folder, or lies below a file: move that file away",
      "has a folder where Sluice writes a file: move that folder away",
      "cannot be … (…): correct the cause",
      "data dir … …, or choose another --data-dir",
      "process … on …, since …",
      "another process",
      "data dir … is held by …: stop that process, choose another --data-dir, or wait for it with --standby",
      '…: expected {"format": ..., "id": ...} as Sluice writes it, found …: ',
      "restore the whole data dir from one backup",
      "data dir … has format …, and this Sluice knows up to …: ",
      "it was written by a newer Sluice. Run that one, or choose another --data-dir",
    ],
    "state/storage-error.ts": ["… could not be used: …"],
    "state/store-file.ts": [
      "other bytes",
      "…: expected the store of the data dir, found …: restore the data dir from a backup, or begin with another --data-dir",
    ],
  },
  "it is said by the condition AtLeastOnce": {
    "sinks/clickhouse/sink.ts": [
      "… is the address of several servers (…), whose tables are not replicated: a repeated insert may reach another one, which does not know it; name one server, or replicate the table",
    ],
    "sinks/clickhouse/target/deduplication.ts": [
      "… has the engine …, which cannot recognise a repeat",
      "… remembers … inserts; run … (identical inserts of other writers that send no token are then dropped as well)",
    ],
    "sinks/clickhouse/target/written-tables.ts": [
      "the target of the view … cannot be read",
      "more than … tables depend on it",
      "… does not drop repeated inserts, so rows may be doubled after a failure: …",
    ],
  },
  "it completes a text that is listed with another word": {
    "core/pause.ts": ["correct the named cause; it goes on by itself when its events can be read"],
    "core/positions.ts": ["the rows of the join"],
    "sinks/clickhouse/target/table.ts": ["at most one"],
    "sinks/clickhouse/target/target-reader.ts": ["a list of two numbers", "pairs of an id and a number"],
  },
  "only a server or a broker that is slow, or answers wrongly, makes it": {
    "flow/time-limit.ts": ["it took longer than … s"],
    "peers/targets.ts": ["host … has no address"],
    "sinks/clickhouse/transport/client.ts": [
      "the answer is longer than … bytes",
      "the answer has the encoding …: expected none",
    ],
    "sinks/clickhouse/transport/connection.ts": ["it took too long"],
    "sinks/clickhouse/transport/sent-requests.ts": ["no connection within … s"],
    "sources/kafka/brokers/brokers.ts": [
      "kafkajs: expected version 2.2.4, found one without a cluster of its own",
      "topic …: expected a broker that names its cluster, found none",
      "topic …: expected a partition with a leader, found none",
      "topic …: expected its metadata, found none",
      "the connection to the broker is closed",
      "expected a connection to the broker, found one that is being made",
    ],
    "sources/kafka/brokers/kafkajs-patches.ts": [
      "an answer did not come in time",
      "expected at most … iterations, found …",
      "the broker supports no version of request … that is known here",
    ],
    "sources/kafka/group/group.ts": ["topic …: it was created again while its offsets were read"],
    "sources/kafka/group/member.ts": [
      "expected a member of the group, found none: it joins again",
      "expected a heartbeat or a join of the consumer group within … ms, found none: it joins again",
    ],
    "sources/kafka/reading/partition-reader.ts": ["…: expected events between the offsets … and …, found none"],
  },
};

/** The sentences that are left out, as `path: sentence`. */
export const leftOut: readonly string[] = Object.values(exempt).flatMap((files) =>
  Object.entries(files).flatMap(([path, sentences]) => sentences.map((sentence) => `${path}: ${sentence}`)),
);
