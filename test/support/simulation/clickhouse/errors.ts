import { Exception } from "../../../../engine/embedded-clickhouse/server/exception.ts";

/** ClickHouse's names of its codes, as far as they occur here. */
const names = {
  6: "CANNOT_PARSE_TEXT",
  16: "NO_SUCH_COLUMN_IN_TABLE",
  27: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
  33: "CANNOT_READ_ALL_DATA",
  47: "UNKNOWN_IDENTIFIER",
  57: "TABLE_ALREADY_EXISTS",
  60: "UNKNOWN_TABLE",
  62: "SYNTAX_ERROR",
  81: "UNKNOWN_DATABASE",
  115: "UNKNOWN_SETTING",
  117: "INCORRECT_DATA",
  159: "TIMEOUT_EXCEEDED",
  164: "READONLY",
  202: "TOO_MANY_SIMULTANEOUS_QUERIES",
  241: "MEMORY_LIMIT_EXCEEDED",
  242: "TABLE_IS_READ_ONLY",
  243: "NOT_ENOUGH_SPACE",
  252: "TOO_MANY_PARTS",
  319: "UNKNOWN_STATUS_OF_INSERT",
  372: "SESSION_NOT_FOUND",
  394: "QUERY_WAS_CANCELLED",
  395: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
  439: "CANNOT_SCHEDULE_TASK",
  452: "SETTING_CONSTRAINT_VIOLATION",
  469: "VIOLATED_CONSTRAINT",
  497: "ACCESS_DENIED",
  516: "AUTHENTICATION_FAILED",
  999: "KEEPER_EXCEPTION",
} as const;

/** An error of the server, by its code. Codes without a name here have one of their own. */
export function serverError(code: number, text: string): Exception {
  return new Exception(code, (names as Record<number, string>)[code] ?? `CODE_${code}`, text);
}
