/** JSON values in groups: how they are spelled, and what they are near to. */

const listed = (list: string): string[] => list.split(" | ");
const texts = (list: string): string[] => listed(list).map((text) => `"${text}"`);

export const truths = ["true", "false"];

export const wholes = listed(
  "0 | 1 | -1 | 7 | 127 | 128 | -128 | -129 | 255 | 256 | 32767 | 32768 | -32768 | -32769 | 65535 | 65536 | 1717158645 | 2147483647 | 2147483648 | -2147483648 | -2147483649 | 4294967295 | 4294967296 | 999999999999999",
);
export const wideWholes = listed(
  "9007199254740991 | 9007199254740993 | 9223372036854775807 | -9223372036854775808 | 9223372036854775808 | -9223372036854775809 | 18446744073709551615 | 18446744073709551616",
);
/** As JSON.stringify spells them, or with zeros behind the point. */
export const fractions = listed(
  "1.0 | 100.000 | 1.5 | -0.25 | 0.1 | 0.000001 | 0.30000000000000004 | 1717158645.123456 | 1e-7 | 5e-324",
);
export const largest = "1.7976931348623157e+308";
const oddNumbers = listed(
  "-0 | -0.0 | 1.50 | 1e3 | 1E-7 | 1e39 | 0.0000001 | 1717158645.123456789 | 1e21 | 1e400 | 0.100",
);

const escapes = [
  String.raw`"\u00e9\ud83d\ude00\u0000\uFFFF"`,
  String.raw`"a\"b\\c\/\b\f\n\r\t"`,
  String.raw`"\\N \\n"`,
  String.raw`"\n\nDROP TABLE d.t;\n\n"`,
];
const halves = [String.raw`"\ud800"`, String.raw`"\udc00 x"`];
const words = texts(
  " | a | b c | é😀 | 12 | -5 | 1.5 | true | t | 1.2.3.4 | ::1 | {} | NULL | 61f0c404-5cb3-11e7-907b",
);

export const uuids = texts("61f0c404-5cb3-11e7-907b-a6006ad3dba0 | 61F0C404-5CB3-11E7-907B-A6006AD3DBA0");
const oddUuids = texts("61f0c4045cb311e7907ba6006ad3dba0");

/** Times as every column holds them; as DateTime64 holds them; and as a DateTime64(9) no longer does. */
export const times = texts(
  "2024-05-31T12:30:45Z | 2024-05-31T12:30:45.1Z | 2024-05-31T12:30:45.123456789Z | 1970-01-01T00:00:00Z | 2106-02-07T06:28:14.999Z",
);
export const laterTimes = texts("2106-02-07T06:28:15Z | 2262-04-11T23:47:15.999999999Z");
export const lastTimes = texts("2262-04-11T23:47:16.854775807Z | 2299-12-31T23:59:58.99999Z");

export const days = texts("2024-05-31 | 1970-01-01 | 2149-06-05");
/** Days that a Date32 holds and a Date does not, or hardly. */
export const farDays = texts("1900-01-01 | 2149-06-06 | 2149-06-07 | 2299-12-30");

/** The other layouts of times, and what is no time or beyond the ends. */
const otherTimes = texts(
  "2024-05-31T12:30:45+02:00 | 2024-05-31T12:30:45.123-05:30 | 2024-05-31T12:30:45 | 2024-05-31 12:30:45 | 2024-05-31 12:30:45.123 | 2024-05-31T12:30:45.123456 | Fri, 31 May 2024 12:30:45 GMT | Fri, 31 May 2024 12:30:45 +0200 | 31 May 24 12:30 GMT | 31 May 24 12:30 +0200 | Friday, 31-May-24 12:30:45 GMT | Fri May 31 12:30:45 2024 | 05/31/2024 | 03/04/2024 12:00:00 | 1717243200 | 1717243200.5 | 20240531 | 31.05.2024 | 05.31.2024 | 03.04.2024 | 2024/05/31 | May 31, 2024 | 31 May 2024 | 2299-12-31T23:59:59.999Z | 2299-12-31 | 1900-01-01T00:00:00.000Z | 1899-12-31 | 2300-01-01 | 2024-02-30 | 2024-13-01T00:00:00Z | 2024-05-31T24:00:00Z | 1969-12-31T23:59:59.5Z | soon",
);

const structured = listed(
  '[] | [1,2] | ["a",null] | [{"a":1},null] | {} | {"a":1} | {"a":"1"} | {"k": {"x": [1]}, "n": null}',
);

/** Every string that is text. */
export const strings: readonly string[] = words.concat(
  escapes,
  uuids,
  oddUuids,
  times,
  laterTimes,
  lastTimes,
  days,
  farDays,
  otherTimes,
);

export const spellings: readonly string[] = truths.concat(
  wholes,
  wideWholes,
  fractions,
  largest,
  oddNumbers,
  strings,
  halves,
  structured,
  "null",
);
