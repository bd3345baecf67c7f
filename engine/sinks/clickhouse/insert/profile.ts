import type { ClickHouseSettings } from "@clickhouse/client";
import { tokenSetting } from "./insert-settings.ts";
import { quoteText } from "../transport/quote.ts";
import type { Select } from "../transport/sql.ts";
import { numberIn, type Row, textIn } from "../transport/rows.ts";
import { isUnreadable } from "../transport/request-error.ts";

/** A setting in the profile of this user. */
interface ProfileSetting {
  value: string;
  /** Whether a profile, or the server's configuration, sets it. */
  isChanged: boolean;
  min: string | null;
  max: string | null;
  /** 1 where the profile forbids changing it. */
  readonly: number;
}

/** Settings by name, without those that the server does not know. */
export type Profile = ReadonlyMap<string, ProfileSetting>;

/**
 * The settings `names` and `readonly` in the profile, and all that it changes. Undefined where the user may not read it.
 * Throws a RequestError.
 */
export async function readProfile(select: Select, names: readonly string[]): Promise<Profile | undefined> {
  const list = ["readonly", ...names].map(quoteText).join(", ");
  try {
    const rows = await select(
      `SELECT name, value, changed, min, max, readonly FROM system.settings WHERE changed = 1 OR name IN (${list})`,
    );
    return new Map(rows.map((row) => [textIn(row, "name", question), settingOf(row)]));
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
}

const question = "system.settings";

/** Throws a RequestError for a row that describes no setting. */
function settingOf(row: Row): ProfileSetting {
  const bound = (field: string): string | null => (row[field] === null ? null : textIn(row, field, question));
  return {
    value: textIn(row, "value", question),
    isChanged: numberIn(row, "changed", question) !== 0,
    min: bound("min"),
    max: bound("max"),
    readonly: numberIn(row, "readonly", question),
  };
}

/** Those of `settings` that the server knows. */
export function knownOf(profile: Profile, settings: ClickHouseSettings): ClickHouseSettings {
  return Object.fromEntries(Object.entries(settings).filter(([name]) => profile.has(name)));
}

/** Why this profile forbids inserts with the settings `wanted` and a token; undefined if it does not. */
export function refusalOf(profile: Profile, wanted: ClickHouseSettings, username: string): string | undefined {
  const readonly = profile.get("readonly")?.value ?? "0";
  if (readonly !== "0") {
    return `the settings profile of user ${username} has readonly = ${readonly}, which forbids every insert: expected 0; an administrator should set it to 0 there`;
  }
  const reasons = [...Object.entries(wanted), [tokenSetting, ""] as const].map(([name, value]) =>
    whyNotAllowed(name, String(value), profile.get(name), username),
  );
  const found = reasons.filter((reason) => reason !== undefined);
  return found.length === 0 ? undefined : found.join("; ");
}

/** Whether a statement may set this value. */
export function allows(profile: Profile, name: string, value: string): boolean {
  const current = profile.get(name);
  return current !== undefined && obstacle(current, value) === undefined;
}

function whyNotAllowed(
  name: string,
  value: string,
  current: ProfileSetting | undefined,
  username: string,
): string | undefined {
  if (name === tokenSetting) return whyNoToken(current, username);
  if (current === undefined) {
    return `this version of ClickHouse does not know the setting ${name}, which every insert needs as ${value}: it has to be upgraded`;
  }
  const forbidden = isSame(current.value, value) ? undefined : obstacle(current, value);
  if (forbidden === undefined) return undefined;
  return `the settings profile of user ${username} holds ${name} = ${current.value} and ${forbidden}, but every insert needs ${value}; an administrator should set it to ${value} there, or lift that constraint`;
}

function whyNoToken(current: ProfileSetting | undefined, username: string): string | undefined {
  if (current === undefined) {
    return `this version of ClickHouse does not know the setting ${tokenSetting}, by which it would recognise a repeated insert: it has to be upgraded to 22.2 or later`;
  }
  if (current.readonly === 0) return undefined;
  return `the settings profile of user ${username} forbids to change ${tokenSetting}, but every insert needs its own; an administrator should lift that constraint`;
}

/** Why a statement may not change the setting to `value`: completes "the profile ...". */
function obstacle(current: ProfileSetting, value: string): string | undefined {
  if (current.readonly !== 0) return "forbids to change it";
  if (current.min !== null && Number(value) < Number(current.min)) return `allows no less than ${current.min}`;
  if (current.max !== null && Number(value) > Number(current.max)) return `allows no more than ${current.max}`;
  return undefined;
}

/** A statement may always set a setting to the value that it has already. */
function isSame(current: string, wanted: string): boolean {
  return current === wanted || (current !== "" && wanted !== "" && Number(current) === Number(wanted));
}
