/** Thrown for bytes that are no request of their signal. The message says where, what was expected and what was found. */
export class MalformedRequest extends Error {}

/** Thrown for a request whose rows would take more memory than one request may: it has to be sent in smaller ones. */
export class OversizedRequest extends MalformedRequest {}
