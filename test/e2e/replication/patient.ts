import type { Api } from "../support/api.ts";
import type { TestServer } from "../support/server.ts";
import { openTrader, type Trader } from "../support/trader.ts";
import { pause, until } from "../support/wait.ts";

const TRIES = 100;
const BETWEEN_MS = 100;

/**
 * Repeats what the leader refuses while it cannot renew its lease, as on a machine that is busy with other tests: nothing was
 * done then. Not for a process that follows another one. Calls `onRefused` each time.
 */
export function patient<T extends Api>(api: T, onRefused: () => void = () => {}): T {
  const request = api.request.bind(api) as Api["request"];
  api.request = async <R>(...call: Parameters<Api["request"]>) => {
    for (let tries = 1; ; tries++) {
      const answer = await request<R>(...call);
      const code = (answer.body as { code?: string } | null)?.code;
      if (code !== "NOT_LEADER" || tries === TRIES) return answer;
      onRefused();
      await pause(BETWEEN_MS);
    }
  };
  return api;
}

/** Opens an account at the leader with this much money. */
export async function openPatient(server: Pick<TestServer, "url">, money: string): Promise<Trader> {
  const opened = await until<Trader>("an account", () => openTrader(server, "0").catch(() => undefined));
  const trader = patient(opened);
  await trader.deposit(money);
  return trader;
}
