/** A join that is measured: what is on its sides. */
export interface JoinCase {
  name: string;
  /** Events of the right side, each with a key of its own, which are buffered before the left side is read. */
  rights: number;
  /** Events of the left side: each becomes a row. */
  lefts: number;
  /** Bytes by which events are longer than about 150. */
  padding: number;
}

const million = 1_000_000;

export const joinCases: readonly JoinCase[] = [
  { name: "150 B, 1:1", rights: million, lefts: million, padding: 0 },
  { name: "150 B, 1:10", rights: million / 10, lefts: million, padding: 0 },
  { name: "1.5 KB, 1:1", rights: million / 4, lefts: million / 4, padding: 1_350 },
  { name: "1.5 KB, 1:10", rights: million / 40, lefts: million / 4, padding: 1_350 },
  { name: "150 B, 10 million buffered", rights: 10 * million, lefts: million, padding: 0 },
];

/** CPU-seconds per million rows, at most. */
export const joinGoal = 40;

export function caseNamed(name: string): JoinCase {
  return joinCases.find((of) => of.name === name)!;
}

const second = 1_717_158_645;
/** Both are primes that no number of keys is a multiple of: keys come in another order on each side. */
const [leftStep, rightStep] = [7_919, 104_729];

/** The JSON text of a left event. */
export function leftText({ rights, padding }: JoinCase, index: number): string {
  return JSON.stringify({
    id: index,
    customer: `customer-${(index * leftStep) % rights}`,
    at: new Date(second * 1000 + index * 137).toISOString(),
    amount: (index % 10_000) * 0.25,
    page: `/shop/articles/${index % 500_000}?from=newsletter`,
    ...more(padding),
  });
}

/** The JSON text of a right event. */
export function rightText({ rights, padding }: JoinCase, index: number): string {
  const customer = (index * rightStep) % rights;
  return JSON.stringify({
    customer: `customer-${customer}`,
    name: `Name of customer ${customer}`,
    plan: ["free", "team", "company"][customer % 3],
    since: new Date(second * 1000 - customer * 1000).toISOString(),
    city: `City ${customer % 1_000}`,
    ...more(padding),
  });
}

function more(padding: number): { note?: string } {
  return padding === 0 ? {} : { note: "x".repeat(padding) };
}
