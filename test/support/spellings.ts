import { basicType, parseDuration, parseQuantity, printDuration } from "../../schemas/index.ts";
import type { Random } from "./random.ts";

const sameTypes = [
  ["string", "bytes", "datetime"],
  ["bool", "boolean"],
  ["int", "int8", "int16", "int32", "int64", "integer"],
  ["uint", "uint8", "uint16", "uint32", "uint64"],
  ["float", "float32", "float64", "number"],
  ["array"],
  ["map", "object"],
];

/** The duration in other words. */
export function durationSpelling(text: string, random: Random): string {
  const length = parseDuration(text) ?? 0n;
  const [hour, day] = [3_600_000_000_000n, 86_400_000_000_000n];
  return random.pick(
    printDuration(length),
    `+${printDuration(length)}`,
    `${length}ns`,
    `${length / 1000n}us${length % 1000n}ns`,
    ...(length % hour === 0n ? [`${length / hour}.0h`, `0${length / hour}h`] : []),
    ...(length % day === 0n ? [`${length / day}d`] : [`${length / day}d${length % day}ns`]),
  );
}

/** The size in other words; `kilo` is another name of 1024 bytes where it is allowed. */
export function sizeSpelling(text: string, kilo: string, random: Random): string {
  const bytes = (parseQuantity(text) ?? 0n) / 1_000_000_000n;
  return random.pick(
    `${bytes}`,
    `+${bytes}.0`,
    `${bytes}e0`,
    `${bytes}000m`,
    ...(bytes % 1024n === 0n ? [`${bytes / 1024n}${kilo}`, `${bytes / 1024n}Ki`] : []),
    ...(bytes % 1024n === 512n ? [`${bytes / 1024n}.5Ki`] : []),
  );
}

/** The amount of cpu in other words. */
export function cpuSpelling(text: string, random: Random): string {
  const billionths = parseQuantity(text) ?? 0n;
  const thousandths = billionths / 1_000_000n;
  return random.pick(
    `${billionths}n`,
    `${thousandths}m`,
    `${thousandths / 1000n}.${(thousandths % 1000n).toString().padStart(3, "0")}`,
    `${thousandths}e-3`,
  );
}

/** Another name of the type of a field or an output. */
export function typeSpelling(type: string, of: "type" | "output_type", random: Random): string {
  if (type === "[]string") return type;
  const names = sameTypes.find(([basic]) => basic === basicType(type)) ?? [type];
  return random.pick(...names.filter((name) => name !== "datetime" || of === "type"));
}
