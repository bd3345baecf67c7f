import type { ClickHouseSettings } from "@clickhouse/client";
import type { Profile } from "./profile.ts";
import { corrections, harmless, reviewedVersion, shown, touchingInserts } from "./reviewed-settings.ts";

/** What is done about the settings of a profile that inserts do not bring anyway. */
export interface ProfileReview {
  /** Sent with each insert: the profile has another value. */
  corrections: ClickHouseSettings;
  /** Those that are left as they are and may change rows: each with its value and what it may do, as a clause. */
  remarks: string[];
}

/** `sent`: the names of the settings that each insert brings. */
export function reviewOf(profile: Profile, sent: ReadonlySet<string>): ProfileReview {
  const changed = [...profile].filter(([name, { isChanged }]) => isChanged && !sent.has(name));
  const corrected = changed.flatMap(([name, { value }]) => {
    const right = Object.hasOwn(corrections, name) ? corrections[name]! : undefined;
    return right === undefined || isSame(value, right) ? [] : [[name, right] as const];
  });
  return {
    corrections: Object.fromEntries(corrected),
    remarks: changed.flatMap(([name, { value }]) => remarkOn(name, value)),
  };
}

/** How a setting was reviewed; undefined for one that no list knows and that may touch inserts. */
export function reviewedAs(name: string): "corrected" | "shown" | "harmless" | undefined {
  if (Object.hasOwn(corrections, name)) return "corrected";
  if (Object.hasOwn(shown, name)) return "shown";
  if (!touchingInserts.test(name)) return "harmless";
  return harmless.some(([names]) => names.test(name)) ? "harmless" : undefined;
}

function remarkOn(name: string, value: string): string[] {
  const as = reviewedAs(name);
  if (as === "shown") return [`${name} = ${value}, which ${shown[name]}`];
  if (as !== undefined) return [];
  return [
    `${name} = ${value}, which this version of Sluice does not know (it knows those of ClickHouse ${reviewedVersion}) and which may, by its name, change how inserts are split, deduplicated or answered`,
  ];
}

/** Servers write some values otherwise than they are set. */
function isSame(value: string, right: string): boolean {
  return value === right || (right === "0" && value === "false");
}
