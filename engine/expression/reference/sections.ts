import type { Catalog, FunctionDefinition } from "../functions/catalog.ts";
import { arrayFunctions } from "../functions/arrays.ts";
import { bitFunctions, numberFunctions } from "../functions/numbers.ts";
import { conversionFunctions } from "../functions/conversions.ts";
import { helpers } from "../functions/helpers.ts";
import { mapFunctions } from "../functions/maps.ts";
import { textFunctions } from "../functions/texts.ts";
import { timeFunctions } from "../functions/times.ts";
import * as tables from "./function-entries.ts";
import type { Entries, FunctionSet } from "./entry.ts";

/** A table of the reference. */
export interface Section {
  title: string;
  /** Sentences above the table. */
  says: string;
  entries: Entries;
  /** The definitions of the entries, where they are functions with a signature. */
  functions?: Readonly<Record<string, FunctionDefinition>>;
  functionSet: FunctionSet;
}

function ofHelpers(entries: Entries, all: Catalog = helpers): Readonly<Record<string, FunctionDefinition>> {
  return Object.fromEntries([...all].filter(([name]) => Object.hasOwn(entries, name)));
}

/** The functions of filters and stateless transforms. */
export const builtinSections: readonly Section[] = [
  {
    title: "Texts",
    says: "A value that is no text is an error, nil too. Positions count bytes, `len` counts characters.",
    entries: tables.textEntries,
    functions: textFunctions,
    functionSet: "builtins",
  },
  { title: "Numbers", says: "", entries: tables.numberEntries, functions: numberFunctions, functionSet: "builtins" },
  {
    title: "Conversions",
    says: "",
    entries: tables.conversionEntries,
    functions: conversionFunctions,
    functionSet: "builtins",
  },
  { title: "Arrays", says: "", entries: tables.arrayEntries, functions: arrayFunctions, functionSet: "builtins" },
  {
    title: "Arrays, item by item",
    says: "The predicate sees the item as `#`, its fields as `.field`, and its index as `#index`.",
    entries: tables.predicateEntries,
    functionSet: "builtins",
  },
  { title: "Maps", says: "", entries: tables.mapEntries, functions: mapFunctions, functionSet: "builtins" },
  {
    title: "Times and durations",
    says: "Texts without a zone are UTC.",
    entries: tables.timeEntries,
    functions: timeFunctions,
    functionSet: "builtins",
  },
  { title: "Methods of times", says: "", entries: tables.timeMethodEntries, functionSet: "builtins" },
  { title: "Methods of durations", says: "", entries: tables.durationMethodEntries, functionSet: "builtins" },
  {
    title: "Methods of months, weekdays and time zones",
    says: "",
    entries: tables.nameMethodEntries,
    functionSet: "builtins",
  },
  {
    title: "Bits",
    says: "Of integers: write `int(…)` around the numbers of an event.",
    entries: tables.bitEntries,
    functions: bitFunctions,
    functionSet: "builtins",
  },
];

/** The functions that only stateless transforms have. */
export const helperSections: readonly Section[] = [
  {
    title: "Helpers",
    says: "They convert their arguments to text first: nil, arrays and maps become the empty text, numbers have no exponent, times and durations are as `string` prints them. Further arguments are ignored.",
    entries: tables.helperEntries,
    functions: ofHelpers(tables.helperEntries),
    functionSet: "helpers",
  },
  {
    title: "Helpers that replace a function of the same name",
    says: "In a stateless transform these names mean the helper; in a filter, the function above.",
    entries: tables.replacingEntries,
    functions: ofHelpers(tables.replacingEntries),
    functionSet: "helpers",
  },
];
