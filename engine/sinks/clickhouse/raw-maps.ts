import { gapEnd, isDigit, textEnd } from "../../event/raw-json.ts";
import type { Walk } from "../../event/raw-json.ts";
import { RawKeys } from "../../event/raw-keys.ts";

const [comma, openObject, closeObject] = Buffer.from(",{}");

/** Keys of the largest map that is walked. */
const mostKeys = 200;

/**
 * The values of a column that maps texts to texts. ClickHouse keeps every key that it is given, so none may stand there
 * twice. Nor may one begin with a digit: the numbers among the keys of an object come first, and the others as they stand.
 */
export function rawMap(): Walk {
  const keys = new RawKeys(new Map());
  let map = 0;
  return (bytes, start) => {
    if (bytes.getUint8(start) !== openObject) return 0;
    if (bytes.getUint8(start + 1) === closeObject) return start + 2;
    keys.makeRoom(mostKeys);
    map = (map + 1) | 0;
    let key = keys.start;
    let at = start + 1;
    for (let count = 0; count < mostKeys; count += 1) {
      const found = keys.at(bytes, at, key);
      if (found === undefined || found.seen === map || isDigit(bytes.getUint8(at + 1))) return 0;
      key = found;
      key.seen = map;
      const stop = textEnd(bytes, gapEnd(bytes, at + key.length));
      if (stop === 0) return 0;
      if (bytes.getUint8(stop) !== comma) return bytes.getUint8(stop) === closeObject ? stop + 1 : 0;
      at = gapEnd(bytes, stop + 1);
    }
    return 0;
  };
}
