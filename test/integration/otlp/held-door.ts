import type { Push } from "../../../engine/core/push.ts";
import type { Answered, OtlpPort } from "../../../engine/sources/otlp/receiver/receiver.ts";

/** A door behind which pushes wait until they are let through: how full the receiver is, is then no matter of time. */
export class HeldDoor implements OtlpPort {
  readonly answers: Answered[] = [];
  /** Why requests were refused that are no export. */
  readonly refusals: string[] = [];
  /** How often it was asked for a pipeline. */
  asked = 0;
  readonly #waiting: (() => void)[] = [];
  #heard: (() => void)[] = [];

  admits(): "yes" {
    this.asked += 1;
    return "yes";
  }

  rulesOf(): object {
    return {};
  }

  store(_pipeline_id: string, _push: Push): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      for (const hear of this.#heard.splice(0)) hear();
    });
  }

  answered(answered: Answered): void {
    this.answers.push(answered);
  }

  refused({ reason }: { reason: string }): void {
    this.refusals.push(reason);
  }

  /** Resolves when so many pushes wait. */
  async holds(count: number): Promise<void> {
    while (this.#waiting.length < count) await new Promise<void>((resolve) => this.#heard.push(resolve));
  }

  letAllThrough(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** A door that takes nothing: each push meets the same error. */
export class RefusingDoor implements OtlpPort {
  readonly #error: Error;

  constructor(error: Error) {
    this.#error = error;
  }

  admits(): "yes" {
    return "yes";
  }

  rulesOf(): object {
    return {};
  }

  store(): Promise<void> {
    return Promise.reject(this.#error);
  }

  answered(): void {}

  refused(): void {}
}
