import type { Block } from "./pages.ts";

/** How long Sluice may take until it listens, in tenths of a second. */
const patience = 600;

/** Addresses that pages name, and those that Sluice listens on instead while they are tested. */
export type Addresses = Readonly<Record<string, string>>;

/**
 * The blocks of one page as a script for bash: files are written and commands are run in the order of the page, in one
 * shell, and the first that fails ends it. Before each block it prints where that stands.
 */
export function scriptOf(blocks: readonly Block[], addresses: Addresses): string {
  const steps = blocks.filter(
    ({ skip, file, language }) => skip === undefined && (file !== undefined || language === "sh"),
  );
  return [head, ...steps.map((block) => stepOf(block, addresses))].join("\n");
}

const head = `set -euo pipefail
set -m
end() { for pid in $(jobs -p); do kill -TERM -- "-$pid" 2>/dev/null || true; done; wait; }
trap end EXIT
`;

function stepOf(block: Block, addresses: Addresses): string {
  const say = `echo "-- ${block.page}:${block.line}"`;
  // Each once: a free port may begin with the digits of one that the page names.
  const text = block.text.replaceAll(/(?:127\.0\.0\.1|localhost):\d+/g, (named) => addresses[named] ?? named);
  if (block.file !== undefined) {
    const folder = block.file.includes("/") ? `mkdir -p ${block.file.replace(/\/[^/]*$/, "")}` : ":";
    return `${say}\n${folder}\ncat >${block.file} <<'END OF FILE'\n${text}END OF FILE\n`;
  }
  if (!block.isBackground) return `${say}\n${text}`;
  return `${say}
{
${text}} >sluice.log 2>&1 &
sluice=$!
for try in $(seq ${patience}); do
  if grep -q "Sluice is running" sluice.log; then break; fi
  kill -0 $sluice || { cat sluice.log; exit 1; }
  sleep 0.1
done
npx sluice reconcile --wait || { cat sluice.log; exit 1; }
`;
}
