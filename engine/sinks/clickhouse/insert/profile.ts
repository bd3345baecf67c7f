import type { ClickHouseSettings } from "@clickhouse/client";
import { tokenSetting } from "./insert-settings.ts";
import { quoteText, type Select } from "../transport/sql.ts";
import { isUnreadable } from "../transport/request-error.ts";

/** A setting as the profile of this user holds it. */
interface HeldSetting {
  value: string;
  min: string | null;
  max: string | null;
  /** 1 where the profile forbids to change it. */
  readonly: number;
}

/** Settings by name; those that the server does not know are missing. */
export type Profile = ReadonlyMap<string, HeldSetting>;

/** What the profile holds of `names` and of `readonly`; undefined where that cannot be read. Throws a RequestError. */
export async function readProfile(select: Select, names: readonly string[]): Promise<Profile | undefined> {
  const list = ["readonly", ...names].map(quoteText).join(", ");
  try {
    const rows = await select(`SELECT name, value, min, max, readonly FROM system.settings WHERE name IN (${list})`);
    return new Map(rows.map((row) => [String(row["name"]), row as unknown as HeldSetting]));
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

/** Why a user with this profile cannot insert with the settings `wanted` and a token; undefined if nothing forbids it. */
export function refusalOf(profile: Profile, wanted: ClickHouseSettings, username: string): string | undefined {
  const readonly = profile.get("readonly")?.value ?? "0";
  if (readonly !== "0") {
    return `the settings profile of user ${username} has readonly = ${readonly}, which forbids every insert: expected 0; an administrator should set it to 0 there`;
  }
  const reasons = [...Object.entries(wanted), [tokenSetting, ""] as const].map(([name, value]) =>
    whyNot(name, String(value), profile.get(name), username),
  );
  const found = reasons.filter((reason) => reason !== undefined);
  return found.length === 0 ? undefined : found.join("; ");
}

/** Whether a statement may bring this value of a setting. */
export function allows(profile: Profile, name: string, value: string): boolean {
  const held = profile.get(name);
  return held !== undefined && obstacle(held, value) === undefined;
}

function whyNot(name: string, value: string, held: HeldSetting | undefined, username: string): string | undefined {
  if (name === tokenSetting) return whyNoToken(held, username);
  if (held === undefined) {
    return `this version of ClickHouse does not know the setting ${name}, which every insert needs as ${value}: it has to be upgraded`;
  }
  const forbidden = isSame(held.value, value) ? undefined : obstacle(held, value);
  if (forbidden === undefined) return undefined;
  return `the settings profile of user ${username} holds ${name} = ${held.value} and ${forbidden}, but every insert needs ${value}; an administrator should set it to ${value} there, or lift that constraint`;
}

function whyNoToken(held: HeldSetting | undefined, username: string): string | undefined {
  if (held === undefined) {
    return `this version of ClickHouse does not know the setting ${tokenSetting}, by which it would recognise a repeated insert: it has to be upgraded to 22.2 or later`;
  }
  if (held.readonly === 0) return undefined;
  return `the settings profile of user ${username} forbids to change ${tokenSetting}, but every insert needs its own; an administrator should lift that constraint`;
}

/** What keeps a statement from changing the setting to `value`: completes "the profile ...". */
function obstacle(held: HeldSetting, value: string): string | undefined {
  if (held.readonly !== 0) return "forbids to change it";
  if (held.min !== null && Number(value) < Number(held.min)) return `allows no less than ${held.min}`;
  if (held.max !== null && Number(value) > Number(held.max)) return `allows no more than ${held.max}`;
  return undefined;
}

/** A statement may bring a value that the profile holds anyway, whatever it forbids. */
function isSame(held: string, wanted: string): boolean {
  return held === wanted || (held !== "" && wanted !== "" && Number(held) === Number(wanted));
}
