import type { ClickHouseSettings } from "@clickhouse/client";
import type { Failure } from "../../core/sink.ts";
import { allows } from "./profile.ts";
import type { Profile } from "./profile.ts";

/** How many partitions one insert may write where the server's own limit is too low, by this setting. */
const name = "max_partitions_per_insert_block";
const most = 1000;
/** READONLY and SETTING_CONSTRAINT_VIOLATION. */
const forbidden = new Set([164, 452]);

/**
 * The limit of partitions in one insert. It is raised when an insert has met it, if the user's profile lets it be, and
 * stays raised: a table that needs it once needs it again.
 */
export class PartitionLimit {
  static readonly setting = name;
  #mayRaise = true;
  #isRaised = false;

  /** Sent with an insert. */
  get settings(): ClickHouseSettings {
    return this.#isRaised ? { [name]: String(most) } : {};
  }

  /** Without a profile it is tried. */
  learn(profile: Profile | undefined): void {
    // 0 is no limit at all.
    const held = Number(profile?.get(name)?.value ?? 1);
    this.#mayRaise = profile === undefined || (held > 0 && held < most && allows(profile, name, String(most)));
    this.#isRaised &&= this.#mayRaise;
  }

  /** Whether the server refused an insert because it may not raise the limit. */
  static isForbidden({ code, text }: Failure): boolean {
    return code !== undefined && forbidden.has(code) && text.includes(name);
  }

  /** After an insert met the limit. False where it cannot be raised. */
  raise(): boolean {
    this.#isRaised = this.#mayRaise;
    return this.#isRaised;
  }

  /** The server did not let it be raised. */
  giveUp(): void {
    this.#mayRaise = false;
    this.#isRaised = false;
  }
}
