/** What a request reports to the listener, which closes connections on which nothing is under way when it runs short of them. */
export interface RequestProgress {
  /** The request has arrived to its end: from now on its sender waits for an answer. */
  received: () => void;
  /** It was answered, or broke off. Safe to call twice. */
  ended: () => void;
}

/** Called when a request begins on a connection. */
export type BeginRequest = () => RequestProgress;

/** For a request that nobody watches. */
export const unobserved: RequestProgress = { received: () => undefined, ended: () => undefined };
