import { Host } from "../../../src/actor/host/host.ts";
import { type Config, loadConfig } from "../../../src/config.ts";
import { LEDGER } from "../../../src/core/base/enums.ts";
import type { Instrument } from "../../../src/core/protocol/instrument.ts";
import type { Message } from "../../../src/core/protocol/message-schema.ts";
import { Refused } from "../../../src/core/protocol/replies.ts";
import { FAUCET_CAP_QUANTA, openAccounts, openingPrice } from "../orders/commands.ts";

/** Requests in flight while a stream is prepared. */
const WINDOW = 256;

/** Longer than any benchmark: no prices come while a stream runs. */
const MAX_INDEX_AGE_MS = 3_600_000;

/** Settings of an exchange on a folder, with a faucet cap that is high enough for any stream. */
export function benchConfig(dataFolder: string, changes: Partial<Config> = {}): Config {
  const invocation = loadConfig(["start", "--data", dataFolder], {});
  if (invocation.kind !== "start") throw new Error("the configuration starts nothing");
  const { config } = invocation;
  // A benchmark sets the price once. On a slow machine it would be too old before the stream has ended.
  const instruments = config.instruments.map((each) => ({ ...each, maxIndexAgeSeconds: MAX_INDEX_AGE_MS / 1000 }));
  return { ...config, instruments, faucetCapQuanta: FAUCET_CAP_QUANTA, maxIndexAgeMs: MAX_INDEX_AGE_MS, ...changes };
}

/** Starts the pipeline without a gateway: this thread sends the requests. The death of a thread ends the benchmark. */
export async function startEngine(config: Config): Promise<Host> {
  const host = await Host.start(config, () => {});
  host.onFatal = (error) => {
    throw error;
  };
  host.startWatching();
  host.startTicking();
  return host;
}

/** The instrument that the streams trade. */
export const benchInstrument = (host: Host): Instrument => host.instruments[0];

/** Opens the accounts and sets the price that a stream needs, on an empty folder. */
export async function prepareEngine(host: Host): Promise<void> {
  const commands = [...openAccounts()];
  await requestAll(host, LEDGER, (i) => commands[i], 0, commands.length, WINDOW);
  await requestAll(host, benchInstrument(host).id, openingPrice, 0, 1, 1);
}

/**
 * Sends the commands `from` to `to` (exclusive), with `window` of them in flight. Resolves with the last reply; rejects
 * when a command is refused.
 */
export function requestAll(
  host: Host,
  actorId: number,
  commandAt: (i: number) => Message,
  from: number,
  to: number,
  window: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let next = from;
    let answered = from;
    const sendNext = (): void => {
      const command = commandAt(next++);
      const asked = host.request(actorId, command, (transaction) => {
        if (transaction === null) return reject(new Error("the actor has died"));
        if (transaction.messages[transaction.eventCount]?.type === Refused.code)
          return reject(new Error(`refused: ${JSON.stringify(transaction.messages[transaction.eventCount])}`));
        if (++answered === to) resolve();
        else if (next < to) sendNext();
      });
      if (!asked) reject(new Error("the engine is full"));
    };
    while (next < Math.min(to, from + window)) sendNext();
  });
}
