/** How much a sender pushes: `requests` in all, `atOnce` at a time, each with an event of about `size` bytes. */
export interface Flood {
  url: string;
  token: string;
  requests: number;
  atOnce: number;
  size: number;
}

/** An event of about `size` bytes that misses a declared field: it becomes a dead letter. */
export function badEvent(size: number): string {
  return JSON.stringify({ id: "x".repeat(size) });
}

/** Pushes bad events as fast as they are answered, whatever the answer is. Returns how often each status came. */
export async function flood({ url, token, requests, atOnce, size }: Flood): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const body = badEvent(size);
  const headers = { "content-type": "application/json", "x-pipeline-access-token": token };
  let left = requests;
  const sender = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const response = await fetch(url, { method: "POST", headers, body });
      await response.arrayBuffer();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sender));
  return statuses;
}
