import { connect, isIP, type OnReadOpts, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ISocketFactory } from "kafkajs";
import { withoutRoot } from "../../../../schemas/broker-address.ts";
import { foreignText } from "../../../peers/foreign-text.ts";
import type { TargetPolicy } from "../../../peers/targets.ts";

/** Milliseconds without data until the system asks whether the peer is still there, as kafkajs has it. */
const keepAliveDelay = 60_000;
/** What a read of any connection of this thread receives at most. It is used for all of them: a read is taken at once. */
const received = Buffer.allocUnsafeSlow(256 * 1024);

/**
 * Connections to brokers that the policy allows: those that a file names, and those that the metadata of a cluster
 * advertise. All of them receive into one buffer, since a buffer for each read would be garbage at once, and its memory
 * counts towards the next collection: listeners of `data` must copy what they keep.
 */
export function socketsWithin(policy: TargetPolicy): ISocketFactory {
  return ({ host, port, ssl, onConnect }) => {
    try {
      policy.check(host, port);
    } catch (error) {
      return new Socket().destroy(error as Error);
    }
    const onread: OnReadOpts = {
      buffer: received,
      callback: (count) => {
        socket.emit("data", received.subarray(0, count));
        return true;
      },
    };
    const to = { host, port, lookup: policy.lookupFor(port), onread };
    // kafkajs has null where there is no TLS.
    const secure = ssl as typeof ssl | null | undefined;
    const socket: Socket = secure
      ? connectTls({ ...to, ...(isIP(host) === 0 && { servername: withoutRoot(host) }), ...secure }, onConnect)
      : connect(to, onConnect);
    // kafkajs shows the message alone, and that for several addresses is empty.
    socket.on("error", (error) => (error.message = foreignText(error)));
    return socket.setKeepAlive(true, keepAliveDelay);
  };
}
