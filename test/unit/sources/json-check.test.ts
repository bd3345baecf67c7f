import { expect, test } from "vitest";
import { JsonCheck } from "../../../engine/sources/webhook/json-check.ts";
import { mutatedText, randomMessage, spelled } from "../../fuzz/otlp-json.ts";
import { Random } from "../../support/random.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const written = (text: string) => new JsonCheck(Buffer.from(text)).brokenAt();

test.each<[string, number | undefined]>([
  ['{"a":[1,-0.5e+10,true,false,null,"\\u00e4\\n"]}', undefined],
  [" \t\r\n{ } \n", undefined],
  ["", 0],
  ["{", 1],
  ['{"a":01}', 6],
  ['{"a":1,}', 7],
  ['{"a" 1}', 5],
  ["[1 2]", 3],
  ["{} {}", 3],
  ['"\\x"', 2],
  ['"\\u12g4"', 5],
  ['"\n"', 1],
  ["-", 1],
  ["1.", 2],
  ["1e", 2],
  ["tru", 0],
  ["\u00a0{}", 0],
])("%j is checked as JSON.parse does, with the place", (text, place) => {
  expect(written(text)).toBe(place);
  expect(isJson(text)).toBe(place === undefined);
});

test("what JSON.parse takes is taken, and nothing else", () => {
  let taken = 0;
  const count = 1200;
  for (let seed = 1; seed <= count; seed += 1) {
    const random = new Random(seed);
    const text = spelled("logs", randomMessage("logs", random), random);
    const tried = seed % 4 === 0 ? text : mutatedText(text, random);
    const isTaken = written(tried) === undefined;
    if (isTaken !== isJson(tried)) expect.unreachable(`seed ${seed}: ${tried}`);
    taken += isTaken ? 1 : 0;
  }
  // Else they were all alike, and nothing was tested.
  expect(taken).toBeGreaterThan(count / 4);
  expect(taken).toBeLessThan(count * 0.9);
});
