import { Agent } from "node:http";
import { Agent as TlsAgent, type AgentOptions } from "node:https";
import type { Socket } from "node:net";
import type { TargetPolicy } from "./targets.ts";

/** The method of an agent that makes a connection; agents of HTTP and of HTTPS have it, and its type is of newer versions. */
interface Connecting {
  createConnection(
    options: { host?: string; port?: number | string },
    done: (error: Error) => void,
  ): Socket | undefined;
}

/** An agent for `http:` or `https:` that connects only where the policy allows it, by the address that it connects to. */
export function agentWithin(policy: TargetPolicy, isSecure: boolean, options: AgentOptions): Agent {
  const agent = isSecure ? new TlsAgent(options) : new Agent(options);
  const connecting = agent as unknown as Connecting;
  const connect: Connecting["createConnection"] = connecting.createConnection.bind(agent);
  connecting.createConnection = (wanted, done) => {
    const port = Number(wanted.port);
    let host: string;
    try {
      host = policy.check(wanted.host ?? "", port);
    } catch (error) {
      done(error as Error);
      return undefined;
    }
    return connect({ ...wanted, host, lookup: policy.lookupFor(port) } as typeof wanted, done);
  };
  return agent;
}
