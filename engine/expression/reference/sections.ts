import type { Catalog, FunctionDefinition } from "../functions/catalog.ts";
import { arrayFunctions } from "../functions/arrays.ts";
import { bitFunctions, numberFunctions } from "../functions/numbers.ts";
import { conversionFunctions } from "../functions/conversions.ts";
import { helpers } from "../functions/helpers.ts";
import { mapFunctions } from "../functions/maps.ts";
import { textFunctions } from "../functions/texts.ts";
import { timeFunctions } from "../functions/times.ts";
import * as builtin from "./function-entries.ts";
import type { Entries, Knows } from "./entry.ts";
import {
  durationMethodEntries,
  helperEntries,
  predicateEntries,
  replacingEntries,
  timeMethodEntries,
} from "./function-entries.ts";

/** A table of the reference. */
export interface Section {
  title: string;
  /** Sentences above the table. */
  says: string;
  entries: Entries;
  /** The definitions behind the entries, where they are functions with a signature. */
  functions?: Readonly<Record<string, FunctionDefinition>>;
  knows: Knows;
}

function ofHelpers(entries: Entries, all: Catalog = helpers): Readonly<Record<string, FunctionDefinition>> {
  return Object.fromEntries([...all].filter(([name]) => Object.hasOwn(entries, name)));
}

/** The functions that filters and stateless transforms know. */
export const builtinSections: readonly Section[] = [
  {
    title: "Texts",
    says: "A value that is no text is an error, nil too. Positions count bytes, `len` counts characters.",
    entries: builtin.textEntries,
    functions: textFunctions,
    knows: "builtins",
  },
  { title: "Numbers", says: "", entries: builtin.numberEntries, functions: numberFunctions, knows: "builtins" },
  {
    title: "From one kind to another",
    says: "",
    entries: builtin.conversionEntries,
    functions: conversionFunctions,
    knows: "builtins",
  },
  { title: "Arrays", says: "", entries: builtin.arrayEntries, functions: arrayFunctions, knows: "builtins" },
  {
    title: "Arrays, item by item",
    says: "The predicate sees the item as `#`, its fields as `.field`, and its index as `#index`.",
    entries: predicateEntries,
    knows: "builtins",
  },
  { title: "Maps", says: "", entries: builtin.mapEntries, functions: mapFunctions, knows: "builtins" },
  {
    title: "Times and durations",
    says: "Texts without a zone are UTC.",
    entries: builtin.timeEntries,
    functions: timeFunctions,
    knows: "builtins",
  },
  { title: "Methods of times", says: "", entries: timeMethodEntries, knows: "builtins" },
  { title: "Methods of durations", says: "", entries: durationMethodEntries, knows: "builtins" },
  {
    title: "Bits",
    says: "Of integers: write `int(…)` around the numbers of an event.",
    entries: builtin.bitEntries,
    functions: bitFunctions,
    knows: "builtins",
  },
];

/** The functions that stateless transforms know besides. */
export const helperSections: readonly Section[] = [
  {
    title: "Helpers",
    says: "They turn their arguments to text first: nil, arrays and maps become the empty text, numbers have no exponent. Further arguments are ignored.",
    entries: helperEntries,
    functions: ofHelpers(helperEntries),
    knows: "helpers",
  },
  {
    title: "Helpers that replace a function of the same name",
    says: "In a stateless transform these names mean the helper; in a filter, the function above.",
    entries: replacingEntries,
    functions: ofHelpers(replacingEntries),
    knows: "helpers",
  },
];
