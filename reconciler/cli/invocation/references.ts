import { type Permission, permissionsOf } from "../../secrets/permissions.ts";
import { CliError } from "./cli-error.ts";
import type { Settings } from "./settings.ts";

/**
 * What the setting `references` says; undefined where it is not given, and the default counts. Throws CliError for a server
 * that cannot be read.
 */
export function permissionsGiven(settings: Settings): Permission[] | undefined {
  const given = settings.all("references").toReversed();
  if (given.length === 0) return undefined;
  try {
    return permissionsOf(Object.assign({}, ...given.map(({ value }) => value)) as Record<string, string>);
  } catch (error) {
    throw new CliError(`${settings.origin("references")}: towards: ${(error as Error).message}`, { cause: error });
  }
}
