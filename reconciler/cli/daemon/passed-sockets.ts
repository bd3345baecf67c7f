import { CliError } from "../invocation/cli-error.ts";
import type { ListenerName } from "./listen.ts";

/** The first descriptor that a service manager passes (sd_listen_fds). */
const firstDescriptor = 3;

const names: readonly ListenerName[] = ["api", "events", "otlp_grpc", "otlp_http", "hook"];

/**
 * The sockets that a service manager has opened for this process (`LISTEN_FDS` of systemd), by their listeners: connections wait
 * in them while the process is away. Each has the name of its listener in `LISTEN_FDNAMES`. Throws CliError.
 *
 * Node has marked the descriptors at its start: no program that is started here is given them.
 */
export function passedSockets(
  env: Readonly<Record<string, string | undefined>>,
  pid: number,
): ReadonlyMap<ListenerName, number> {
  const sockets = new Map<ListenerName, number>();
  // Else they are those of a parent.
  if (Number(env["LISTEN_PID"]) !== pid) return sockets;
  const given = (env["LISTEN_FDNAMES"] ?? "").split(":");
  for (let index = 0; index < Number(env["LISTEN_FDS"] ?? 0); index += 1) {
    const name = names.find((one) => one === given[index]?.replaceAll("-", "_"));
    if (name === undefined || sockets.has(name)) throw wrongName(index, given[index]);
    sockets.set(name, firstDescriptor + index);
  }
  return sockets;
}

function wrongName(index: number, found = ""): CliError {
  const expected = `one of ${names.join(", ")}, each once`;
  const text = `expected ${expected}, as FileDescriptorName= of its socket unit, found ${JSON.stringify(found)}`;
  return new CliError(`LISTEN_FDNAMES: socket ${index + 1}: ${text}`);
}
