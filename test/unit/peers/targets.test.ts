import type { lookup as dnsLookup, LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { agentWithin } from "../../../engine/peers/agent.ts";
import { TargetPolicy, type TargetRules } from "../../../engine/peers/targets.ts";

/** Finds what each call is told: the next addresses at each, and the last ones from then on. */
function resolving(...answers: string[][]): typeof dnsLookup {
  const told = answers.map((addresses) =>
    addresses.map((address): LookupAddress => ({ address, family: address.includes(":") ? 6 : 4 })),
  );
  const resolve = (_name: string, _options: object, done: (error: null, found: LookupAddress[]) => void): void =>
    done(null, told.length > 1 ? told.shift()! : told[0]!);
  return resolve as unknown as typeof dnsLookup;
}

/** Why a connection is refused, with the addresses that a name has; undefined where it is made. */
function refusal(rules: TargetRules, host: string, addresses: string[] = [], port = 8123): string | undefined {
  const policy = new TargetPolicy(rules, resolving(addresses));
  let reason: string | undefined;
  try {
    const checked = policy.check(host, port);
    if (addresses.length > 0) policy.lookupFor(port)(checked, { all: true }, (error) => (reason = error?.message));
  } catch (error) {
    reason = (error as Error).message;
  }
  return reason;
}

const metadata = "169.254.169.254";
const denied: TargetRules = { deniesPrivate: true };

describe("by default", () => {
  test.each([
    [metadata],
    ["169.254.0.1"],
    ["::ffff:169.254.169.254"],
    ["[::ffff:a9fe:a9fe]"],
    ["fe80::1"],
    ["FE80::1%eth0"],
    ["64:ff9b::169.254.169.254"],
    ["fd00:ec2::254"],
    ["100.100.100.200"],
    ["64:ff9b::100.100.100.200"],
    ["64:ff9b:1::169.254.169.254"],
    ["2002:a9fe:a9fe::1"],
    ["::169.254.169.254"],
    ["::ffff:0:169.254.169.254"],
    ["168.63.129.16"],
    ["192.0.0.192"],
  ])("%s is no target", (host) => {
    expect(refusal({}, host)).toMatch(/is link-local.*the line targets: "\*, .*" in sluice\.yaml$/);
  });

  test.each(["metadata.google.internal", "a.attacker.example"])("nor is %s, whose address that is", (host) => {
    expect(refusal({}, host, [metadata])).toContain(`host ${host} has the address ${metadata}, which is link-local`);
  });

  test.each([
    "",
    "2852039166",
    "0251.0376.0251.0376",
    "0xa9fea9fe",
    "127.0.0.1:47002:.example.com",
    "127.0.0.1\0.example.com",
    "attacker.example\u3002example.com",
    "xn--a.example.com",
    "a b",
  ])("%j is no host, whatever is allowed", (host) => {
    expect(refusal({ allowed: ["*", "0.0.0.0/0"] }, host, ["203.0.113.5"])).toBe(
      `expected a host name or an address to connect to, found ${JSON.stringify(host)}`,
    );
  });

  test.each(["127.0.0.1", "::1", "10.1.2.3", "192.168.0.1", "203.0.113.5", "2001:db8::1", "localhost"])(
    "%s is one, and so is a name with that address",
    (host) => {
      expect(refusal({}, host)).toBeUndefined();
      expect(refusal({}, "clickhouse.example.com", [host === "localhost" ? "127.0.0.1" : host])).toBeUndefined();
    },
  );
});

describe("without private targets", () => {
  test.each([
    "127.0.0.1",
    "127.255.0.9",
    "0.0.0.0",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "10.0.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",
    "fd12::1",
    "::127.0.0.1",
    "::ffff:0:127.0.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "224.0.0.251",
    "255.255.255.255",
    "ff02::1",
  ])("%s is no target, and no name with that address", (address) => {
    expect(refusal(denied, address)).toMatch(/private_targets denies: .*targets: "\*, /);
    expect(refusal(denied, "localhost.attacker.example", [address])).toMatch(/private_targets denies/);
  });

  test.each(["203.0.113.5", "172.32.0.1", "2001:db8::1", "198.20.0.1", "::203.0.113.5"])("%s is one", (address) => {
    expect(refusal(denied, address)).toBeUndefined();
  });

  test("a range or an address in targets allows what it names, a name does not", () => {
    const allowed = ["*.example.com", "10.1.0.0/16"];
    expect(refusal({ ...denied, allowed }, "ch.example.com", ["10.1.2.3"])).toBeUndefined();
    expect(refusal({ ...denied, allowed }, "ch.example.com", ["10.2.2.3"])).toMatch(/adding 10\.2\.2\.3 to targets/);
  });
});

describe("with targets", () => {
  test.each<[string, string, string[], number]>([
    ["ch.example.com", "CH.example.com.", ["203.0.113.5"], 1],
    ["*.example.com", "a.b.example.com", ["203.0.113.5"], 1],
    ["k-*.data.svc:9092", "k-1.data.svc", ["10.0.0.1"], 9092],
    ["10.0.0.0/8", "any.example.com", ["10.9.9.9"], 1],
    ["10.0.0.5:9092", "any.example.com", ["10.0.0.5"], 9092],
    ["[2001:db8::5]:8123", "2001:DB8::5", [], 8123],
    ["2001:db8::/32", "2001:db8::5", [], 8123],
    ["*", "2001:db8::5", [], 8123],
    ["10.0.*", "10.0.0.5", [], 8123],
    ["169.254.1.1", "169.254.1.1", [], 8123],
    ["[fe80::1%eth0]:9092", "fe80::1%eth0", [], 9092],
    ["fe80::/64", "fe80::1%eth0", [], 9092],
  ])("%s allows %s", (entry, host, addresses, port) => {
    expect(refusal({ allowed: ["unused.example", entry] }, host, addresses, port)).toBeUndefined();
  });

  test.each<[string, string, string[], number]>([
    ["ch.example.com", "ch.example.com.attacker.example", ["203.0.113.5"], 1],
    ["*.example.com", "example.com", ["203.0.113.5"], 1],
    ["*.example.com", "203.0.113.5", [], 1],
    ["ch.example.com:8123", "ch.example.com", ["203.0.113.5"], 9092],
    ["10.0.0.0/8", "ch.example.com", ["203.0.113.5"], 1],
    ["10.0.0.5:9092", "10.0.0.5", [], 8123],
    ["*", metadata, [], 80],
    ["*", "a.example.com", [metadata], 80],
    ["0.0.0.0/0", metadata, [], 80],
    ["10.0.*", "10.0.attacker.example", ["203.0.113.5"], 80],
  ])("%s does not allow %s", (entry, host, addresses, port) => {
    expect(refusal({ allowed: [entry] }, host, addresses, port)).toMatch(
      /an operator allows it by adding .* to targets/,
    );
  });

  test.each(["10.0.0.0/33", "10.0.0.0/x", "a b", "http://ch", "ch/8", "2001:db8::/129", "ch:0", "[2001:db8::5]:70000"])(
    "%s is no entry",
    (entry) => {
      expect(() => new TargetPolicy({ allowed: [entry] })).toThrow(/^expected a (name|range|port)/);
    },
  );

  test.each(["fe80::1%eth0", "2001:db8::5", "10.0.0.5"])("the line that a refusal of %s names allows it", (host) => {
    const [, entry = ""] = /by adding (\S+) to targets/.exec(refusal({ allowed: [] }, host, [], 9092) ?? "") ?? [];
    expect(refusal({ allowed: [entry] }, host, [], 9092)).toBeUndefined();
  });
});

test("of the addresses of a name, only those that may be connected to are", () => {
  const policy = new TargetPolicy({}, resolving([metadata, "203.0.113.5", "fe80::1"]));
  policy.lookupFor(80)("a.example", { all: true }, (error, found) => {
    expect([error, found]).toEqual([null, [{ address: "203.0.113.5", family: 4 }]]);
  });
  policy.lookupFor(80)("a.example", {}, (error, address, family) => {
    expect([error, address, family]).toEqual([null, "203.0.113.5", 4]);
  });
});

test("a name that has another address a moment later is looked at again at each connection", async () => {
  let requests = 0;
  const server = createServer((_request, response) => {
    requests += 1;
    response.end("internal");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const policy = new TargetPolicy({ ...denied, allowed: ["*", "127.0.0.2"] }, resolving(["127.0.0.2"], ["127.0.0.1"]));
  const agent = agentWithin(policy, false, {});
  const ask = (): Promise<unknown> =>
    new Promise((resolve) => {
      request({ host: "rebound.example", port, agent }).on("error", resolve).on("response", resolve).end();
    });
  expect(await ask()).toMatchObject({ code: "ECONNREFUSED" });
  expect(await ask()).toMatchObject({ code: "TARGET_NOT_ALLOWED" });
  expect(requests).toBe(0);
  agent.destroy();
  server.close();
});
