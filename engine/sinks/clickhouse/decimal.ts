const layout = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;

/**
 * A number's text as a Decimal(precision, scale), without an exponent; undefined if it is no number, too big, or has
 * digits that the scale would cut: ClickHouse would drop them without a word.
 */
export function decimalText(text: string, precision: number, scale: number): string | undefined {
  const match = layout.exec(text);
  if (match === null || text.length > 400) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return undefined;
  const [integer, rest] = shift(whole, fraction, Number(exponent));
  if (integer.length > precision - scale || rest.length > scale) return undefined;
  const magnitude = `${integer === "" ? "0" : integer}${rest === "" ? "" : `.${rest}`}`;
  return sign === "-" && magnitude !== "0" ? `-${magnitude}` : magnitude;
}

/** Digits before and behind the point after it has moved by `exponent`, without zeros that say nothing. */
function shift(whole: string, fraction: string, exponent: number): [string, string] {
  const digits = whole + fraction;
  const significant = digits.replace(/^0+/, "");
  if (significant === "") return ["", ""];
  const point = significant.length - fraction.length + exponent;
  const integer = point > 0 ? significant.slice(0, point).padEnd(point, "0") : "";
  const rest = point > 0 ? significant.slice(point) : "0".repeat(-point) + significant;
  return [integer, rest.replace(/0+$/, "")];
}
