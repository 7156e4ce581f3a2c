import { isDeepStrictEqual } from "node:util";
import type { Audit, OrderBook, Ticker } from "../../src/client/types.ts";
import { Api } from "../e2e/support/api.ts";
import { mayHaveSettled } from "../e2e/support/funding.ts";
import { Random } from "../e2e/support/random.ts";
import { OPERATOR_TOKEN, TestServer } from "../e2e/support/server.ts";
import { pause, until } from "../e2e/support/wait.ts";
import { login, newPrivateKey } from "../e2e/support/wallet.ts";
import { type CrashLoad, indexPriceOf, newLoad, runClient, setLeverage, transfer } from "./load.ts";
import { AccountModel, Findings, ISOLATED_SYMBOL, SYMBOLS } from "./model.ts";
import { verifyAll } from "./verify-exchange.ts";

const ACCOUNTS = 6;
const CLIENTS_PER_ACCOUNT = 3;
const FUNDS = "500000";
/** Minimum number of acknowledged requests before a kill, however slow the machine is. */
export const MIN_LOAD = 20;

export interface CrashOptions {
  kills: number;
  seed: number;
  /** Settings of the server; each start picks one at random. */
  environments: readonly Record<string, string>[];
  /** Called after each kill. */
  onRound?: (text: string) => void;
}

export interface CrashReport {
  kills: number;
  acknowledged: number;
  findings: Findings;
}

/**
 * How a round ends. LOAD: SIGKILL while requests are under way. RECOVERY: the same, and again while it recovers.
 * IDLE: SIGKILL when all is quiet. TERM: SIGTERM under load.
 */
type Ending = "LOAD" | "RECOVERY" | "IDLE" | "TERM";

/**
 * Starts a real server, puts it under load, kills it at a random moment, restarts it on the same data folder and
 * compares its state with every reply that it gave. Repeats this `kills` times.
 */
export async function runCrashRounds(options: CrashOptions): Promise<CrashReport> {
  const random = new Random(options.seed);
  const findings = new Findings();
  const load = newLoad(random, findings);
  const server = new TestServer();
  const pickSettings = (): void => {
    server.environment = serverSettings(random.pick(options.environments));
  };
  pickSettings();
  try {
    await start(server, load);
    const accounts = await openAccounts(load);
    let verifiedAt = 0;
    let kills = 0;
    for (; kills < options.kills && findings.all.length === 0; kills++) {
      const ending = pickEnding(random);
      const begun = load.acknowledged;
      pickSettings();
      await runRound(server, load, accounts, ending);
      const now = Date.now();
      // One second earlier, so that the ranges of two checks overlap.
      await verifyAll(load, accounts, Math.max(0, verifiedAt - 1000));
      verifiedAt = now;
      options.onRound?.(`${kills + 1} ${ending}: ${load.acknowledged - begun} acknowledged`);
    }
    // Finally checks everything since the beginning.
    await verifyAll(load, accounts, 0);
    for (const line of server.loggedErrors) findings.other.push(`the server has logged an error: ${line}`);
    return { kills, acknowledged: load.acknowledged, findings };
  } catch (error) {
    findings.other.push(`${(error as Error).stack}\n${server.stderr.slice(-2000)}`);
    return { kills: 0, acknowledged: load.acknowledged, findings };
  } finally {
    load.stopping = true;
    await server.dispose();
  }
}

/** Settings that the load needs, and others. */
export const serverSettings = (others: Record<string, string>): Record<string, string> => ({
  PERPD_FAUCET_CAP: "10000000",
  PERPD_WITHDRAWAL_DELAY_MS: "200",
  ...others,
});

function pickEnding(random: Random): Ending {
  const roll = random.next();
  if (roll < 0.65) return "LOAD";
  if (roll < 0.8) return "RECOVERY";
  return roll < 0.9 ? "IDLE" : "TERM";
}

async function start(server: TestServer, load: CrashLoad): Promise<void> {
  await server.start();
  load.url = server.url;
}

export async function openAccounts(load: CrashLoad): Promise<AccountModel[]> {
  const operator = new Api(load.url, OPERATOR_TOKEN);
  for (const symbol of SYMBOLS)
    await operator.call(200, "PUT", `/operator/index/${symbol}`, { price: indexPriceOf(symbol) });
  const accounts: AccountModel[] = [];
  for (let i = 0; i < ACCOUNTS; i++) {
    const privateKey = newPrivateKey();
    const session = await login(load.url, privateKey);
    const account = new AccountModel(privateKey, session.accountId, session.token);
    const body = { asset: "USDC", amount: FUNDS, reference: "funds" } as const;
    await transfer(load, account, { path: "/account/deposit", body, state: "ASKED", transfer: null });
    await setLeverage(load, account, "SOL-PERP", 15);
    await new Api(load.url, account.token).call(200, "POST", `/positions/${ISOLATED_SYMBOL}/margin-mode`, {
      mode: "ISOLATED",
    });
    accounts.push(account);
  }
  return accounts;
}

/** One round: load, end of the server, restart. */
async function runRound(
  server: TestServer,
  load: CrashLoad,
  accounts: readonly AccountModel[],
  ending: Ending,
): Promise<void> {
  const { random, findings } = load;
  load.stopping = false;
  const running = runLoad(load, accounts);
  const begun = load.acknowledged;
  await until("load", () => load.acknowledged >= begun + MIN_LOAD);
  await pause(random.between(20, 700));
  if (ending === "LOAD" || ending === "RECOVERY") await server.kill();
  if (ending === "TERM") {
    const { code } = await server.stop();
    if (code !== 0) findings.other.push(`SIGTERM under load: exit code ${code}`);
  }
  load.stopping = true;
  await running;
  const since = Date.now();
  const quiet = ending === "IDLE" ? await quietState(load) : null;
  if (ending === "IDLE") await server.kill();
  if (ending === "RECOVERY") await killWhileStarting(server, random.between(50, 600));
  await start(server, load);
  if (quiet !== null) {
    const now = await quietState(load);
    if (!isDeepStrictEqual(now, quiet) && !mayHaveSettled(since))
      findings.lost.push(`killed while idle: it was ${JSON.stringify(quiet)} and is ${JSON.stringify(now)}`);
  }
}

/** Runs all clients until `load.stopping`. */
export async function runLoad(load: CrashLoad, accounts: readonly AccountModel[]): Promise<void> {
  const clients = accounts.flatMap((account) =>
    Array.from({ length: CLIENTS_PER_ACCOUNT }, (_, i) => runClient(load, account, i === 0)),
  );
  await Promise.all([...clients, movePrices(load)]);
}

/** Moves index prices a little, so that marks and margins change under load. */
async function movePrices(load: CrashLoad): Promise<void> {
  const operator = new Api(load.url, OPERATOR_TOKEN);
  while (!load.stopping) {
    const symbol = load.random.pick(SYMBOLS);
    const price = indexPriceOf(symbol, load.random.between(-100, 100));
    await operator.request("PUT", `/operator/index/${symbol}`, { price }).catch(() => {});
    await pause(20);
  }
}

async function killWhileStarting(server: TestServer, afterMs: number): Promise<void> {
  const starting = server.start().catch(() => {});
  await pause(afterMs);
  await server.kill();
  await starting;
}

/** Everything that a crash of an idle server must not change: state digests, books, tickers. */
async function quietState(load: CrashLoad) {
  const operator = new Api(load.url, OPERATOR_TOKEN);
  const { symbols, money, accounts } = await operator.get<Audit>("/operator/audit");
  const markets = await Promise.all(
    SYMBOLS.map(async (symbol) => {
      const { bids, asks, checksum } = await operator.get<OrderBook>(`/market/orderbook?symbol=${symbol}&depth=1000`);
      const { time: _, nextFundingTime: __, ...ticker } = await operator.get<Ticker>(`/market/ticker?symbol=${symbol}`);
      return { bids, asks, checksum, ticker };
    }),
  );
  return { symbols, money, accounts, markets };
}
