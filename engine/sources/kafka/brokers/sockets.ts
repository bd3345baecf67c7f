import { connect, isIP, type OnReadOpts, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ISocketFactory } from "kafkajs";
import { withoutRoot } from "../../../../schemas/addresses/host.ts";
import { foreignText } from "../../../peers/foreign-text.ts";
import type { TargetPolicy } from "../../../peers/targets.ts";
import { mismatch } from "./failures.ts";

/** Milliseconds without data until the system asks whether the peer is still there, as kafkajs has it. */
const keepAliveDelay = 60_000;
/** What a read of any connection of this thread receives at most. It is used for all of them: a read is taken at once. */
const received = Buffer.allocUnsafeSlow(256 * 1024);

/** How the answer to a connection without TLS begins where the listener speaks TLS: an alert of any version. */
const [alert, tlsMajor] = [0x15, 0x03];

/** Codes of errors by which a handshake ends where the listener speaks no TLS. */
const noTls = new Set(["ECONNRESET", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"]);

/**
 * Connections to brokers that the policy allows: those that a file names, and those that the metadata of a cluster
 * advertise. All of them receive into one buffer, since a buffer for each read would be garbage at once, and its memory
 * counts towards the next collection: listeners of `data` must copy what they keep.
 */
export function socketsWithin(policy: TargetPolicy): ISocketFactory {
  return ({ host: given, port, ssl, onConnect }) => {
    let host: string;
    try {
      host = policy.check(given, port);
    } catch (error) {
      return new Socket().destroy(error as Error);
    }
    // kafkajs has null where there is no TLS.
    const secure = ssl as typeof ssl | null | undefined;
    const onread: OnReadOpts = {
      buffer: received,
      callback: (count) => {
        const isTls = !secure && socket.bytesRead === count && received[0] === alert && received[1] === tlsMajor;
        if (isTls) socket.destroy(mismatch(new Error("the listener speaks TLS"), "LISTENER_WITH_TLS"));
        else socket.emit("data", received.subarray(0, count));
        return true;
      },
    };
    const to = { host, port, lookup: policy.lookupFor(port), onread };
    const socket: Socket = secure
      ? connectTls({ ...to, ...(isIP(host) === 0 && { servername: withoutRoot(host) }), ...secure }, onConnect)
      : connect(to, onConnect);
    let isOpen = false;
    socket.once(secure ? "secureConnect" : "connect", () => (isOpen = true));
    socket.on("error", (error: NodeJS.ErrnoException & { reason?: string }) => {
      // kafkajs shows the message alone, which is empty for several addresses, and the code of OpenSSL for TLS.
      error.message = foreignText(error.reason ?? error);
      if (secure && !isOpen && noTls.has(error.code ?? "")) mismatch(error, "LISTENER_WITHOUT_TLS");
    });
    return socket.setKeepAlive(true, keepAliveDelay);
  };
}
