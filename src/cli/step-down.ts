import { PerpdClient } from "../client/client.ts";
import type { StepDown } from "../client/types.ts";
import { type Command, PartlyFailedError } from "./command.ts";

const LOOK_EVERY_MS = 20;
const LOOK_FOR_MS = 10_000;

export const stepDown: Command = {
  name: "step-down",
  summary: "hand a replicated exchange over to a standby; the process at the URL ends; needs PERPD_OPERATOR_TOKEN",
  options: { force: { description: "although no standby is ready: then nobody leads until a process starts" } },
  isForOperators: true,
  async run({ client, values, terminal: { print }, asJson }) {
    const begunAt = performance.now();
    const reply = await client.stepDown(values.force === true);
    if (asJson) print(JSON.stringify(reply));
    const leader = await findLeader(reply, begunAt + LOOK_FOR_MS);
    if (leader === null)
      throw new PartlyFailedError(
        "stepped down, but no standby is seen to lead: look at their logs, and start a process",
      );
    const ms = Math.round(performance.now() - begunAt);
    if (!asJson) print(`${leader} leads after ${ms} ms`);
  },
};

/** The URL of the standby that has taken over; null = none has by `deadline`, or it cannot be reached from here. */
async function findLeader({ standbys }: StepDown, deadline: number): Promise<string | null> {
  const options = { retries: 0, timeoutMs: 1000 };
  const clients = standbys.map(({ url }) => ({ url, client: new PerpdClient({ baseUrl: `${url}/v1`, ...options }) }));
  while (clients.length > 0 && performance.now() < deadline) {
    for (const { url, client } of clients) {
      const state = await client.replication().catch(() => null);
      if (state?.role === "LEADER") return url;
    }
    await new Promise((later) => setTimeout(later, LOOK_EVERY_MS));
  }
  return null;
}
