import type { FunctionDefinition } from "../catalog.ts";
import { bare } from "../printing.ts";
import { text } from "../types.ts";

/** Per question, the answers with the words that give them away; the first that is found counts. */
type Rules = readonly (readonly [answer: string, ...words: string[]])[];

const browsers: Rules = [
  ["Edge", "edg/"],
  ["Chrome", "chrome", "crios"],
  ["Firefox", "firefox", "fxios"],
  ["Safari", "safari"],
];

const systems: Rules = [
  ["iOS", "iphone", "ipad", "ipod"],
  ["Android", "android"],
  ["Windows", "windows"],
  ["macOS", "mac os", "macintosh"],
  ["Linux", "linux"],
];

function firstOf(rules: Rules, agent: string): string {
  return rules.find(([, ...words]) => words.some((word) => agent.includes(word)))?.[0] ?? "Unknown";
}

function device(agent: string): string {
  if (agent.includes("ipad") || (agent.includes("android") && !agent.includes("mobile"))) return "Tablet";
  return ["mobile", "iphone", "android"].some((word) => agent.includes(word)) ? "Mobile" : "Desktop";
}

function answer(agent: string, what: string): string {
  if (what === "device") return device(agent);
  if (what === "browser") return firstOf(browsers, agent);
  return what === "os" ? firstOf(systems, agent) : "";
}

/** What a browser says of itself (specification, expressions, section 4). */
export const userAgentHelpers: Readonly<Record<string, FunctionDefinition>> = {
  parseUserAgent: {
    takes: ["any", "any"],
    rest: "any",
    gives: text,
    run: ({ budget }, agent, what) => {
      const named = bare(agent);
      budget.make(named.length);
      return named === "" ? "" : answer(named.toLowerCase(), bare(what));
    },
  },
};
