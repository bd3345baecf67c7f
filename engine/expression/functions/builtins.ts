import { catalog, type Catalog } from "./catalog.ts";
import { arrayFunctions } from "./arrays.ts";
import { bitFunctions, numberFunctions } from "./numbers.ts";
import { conversionFunctions } from "./conversions.ts";
import { mapFunctions } from "./maps.ts";
import { textFunctions } from "./texts.ts";
import { timeFunctions } from "./times.ts";

/** Every builtin, except those that take a predicate. Filters have only these. */
export const builtins: Catalog = catalog(
  textFunctions,
  numberFunctions,
  conversionFunctions,
  arrayFunctions,
  mapFunctions,
  timeFunctions,
  bitFunctions,
);
