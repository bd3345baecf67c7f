import type { AccessTokens } from "./access-tokens.ts";
import { BackPressure } from "./back-pressure.ts";
import { Doorkeeper } from "./doorkeeper.ts";
import { OtlpEntrance } from "./otlp-entrance.ts";
import type { Register } from "./register.ts";
import { OtlpGrpc } from "./sources/otlp/receiver/grpc.ts";
import { OtlpHttp } from "./sources/otlp/receiver/http.ts";
import { Receiver } from "./sources/otlp/receiver/receiver.ts";
import type { OtlpSettings } from "./sources/otlp/receiver/settings.ts";
import { WebhookIntake } from "./sources/webhook/intake.ts";
import type { StreamShelf } from "./stream-shelf.ts";
import type { Recorder } from "./telemetry/recorder.ts";
import { WebhookEntrance } from "./webhook-entrance.ts";

interface IntakeParts {
  register: Register;
  tokens: AccessTokens;
  streams: StreamShelf;
  recorder: Recorder;
  otlp: OtlpSettings;
}

/** Everything that events are pushed at, behind one door: a listener for each is opened by whoever has the engine. */
export class Intakes {
  readonly webhook: WebhookIntake;
  readonly otlpHttp: OtlpHttp;
  readonly otlpGrpc: OtlpGrpc;
  readonly #doorkeeper: Doorkeeper;
  readonly #backPressure: BackPressure;

  constructor({ register, tokens, streams, recorder, otlp }: IntakeParts) {
    this.#backPressure = new BackPressure({ register, streams, telemetry: recorder });
    const doorkeeper = new Doorkeeper({ register, streams, backPressure: this.#backPressure });
    this.#doorkeeper = doorkeeper;
    this.webhook = new WebhookIntake(new WebhookEntrance({ doorkeeper, tokens, telemetry: recorder }));
    const receiver = new Receiver(new OtlpEntrance({ doorkeeper, telemetry: recorder }), otlp);
    this.otlpHttp = new OtlpHttp(receiver);
    this.otlpGrpc = new OtlpGrpc(receiver);
  }

  /** Resolves when nothing that was pushed at a pipeline is on its way to the disk any more. */
  stored(pipeline_id: string): Promise<void> {
    return this.#doorkeeper.stored(pipeline_id);
  }

  close(): void {
    this.#backPressure.close();
    this.otlpGrpc.close();
  }
}
