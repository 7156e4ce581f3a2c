import type { Config } from "../config.ts";
import { printBigQuanta } from "../core/base/units.ts";
import type { ActorAudit } from "../core/protocol/payloads.ts";
import { openDatabase } from "../store/database/database.ts";
import { databaseOf, logOf } from "../store/files/data-folder.ts";
import { openSecret } from "../store/files/secret.ts";
import { requireMatchingSecret, Vault } from "../store/files/vault.ts";
import { type LogSummary, verifyLog } from "../store/log/log-scan.ts";
import {
  instrumentNotConfigured,
  readInstruments,
  requireSameInstruments,
} from "../store/registry/instrument-registry.ts";
import { checkDatabase, type DatabaseSummary } from "./database-check.ts";
import { DamagedError } from "./errors.ts";
import { readCopyRecord, requireExchange, withReadOnlyView } from "./folder.ts";
import { compareHistory, readTail } from "./history-agreement.ts";
import { actorIdsOf, RecoveredExchange } from "./recovered.ts";

/** Takes in the report line by line, while the check goes on. */
export type Say = (line: string) => void;

/** What the files hold, each sound by itself and all together. */
interface Files {
  log: LogSummary;
  database: DatabaseSummary;
  /** Of the secret that lies with them. */
  vault: Vault;
  /** Recovery, or the index, goes on with this sequence. */
  neededFrom: number;
}

/**
 * Checks the data folder `config.data`, which nobody may be using, and changes nothing in it: every record of the log,
 * every value of the database, and the state that both recover to. Throws DamagedError, or the error of the part of the
 * exchange that finds the damage; ConfigError when the instruments configured are not those of the folder.
 */
export async function verifyFolder(config: Config, say: Say): Promise<void> {
  const files = await verifyFiles(config, say);
  await withReadOnlyView(config.data, databaseOf(config.data), async (view) => {
    const database = openDatabase(view, { readOnly: true });
    try {
      const { log } = files;
      const logDir = logOf(config.data);
      const tail = readTail(logDir, files.neededFrom, log.lastSequence, files.database.indexedSequence, config);
      const exchange = new RecoveredExchange(config, database, logDir, log.lastSequence);
      requireMatchingSecret(config.data, files.vault, exchange.keys());
      const { ledger, symbols } = exchange.audits();
      judge(ledger, symbols);
      sayAudits(config, ledger, symbols, say);
      const { openOrders, skipped } = compareHistory(database, exchange, ledger, tail);
      const rest = skipped === 0 ? "" : `; ${skipped} orders that the index has yet to see were left out`;
      say(
        `history    ${openOrders} open orders of customers and the sum of all transfers agree with the actors${rest}`,
      );
    } finally {
      await database.close();
    }
  });
}

async function verifyFiles(config: Config, say: Say): Promise<Files> {
  const dir = config.data;
  const { exchangeId, createdAt } = requireExchange(dir);
  const known = readInstruments(dir);
  if (known !== null) requireSameInstruments(known, config.instruments);
  const vault = new Vault(openSecret(dir));
  say(`exchange   ${exchangeId}, made ${createdAt}`);
  if (known === null) say("units      as configured: no start has recorded yet what this folder was begun with");
  const log = verifyLog(logOf(dir));
  const torn = log.tornBytes === 0 ? "" : `; behind them a torn tail of ${log.tornBytes} bytes, never acknowledged`;
  const range = log.records === 0 ? "no turn" : `turns ${log.firstSequence} to ${log.lastSequence}`;
  say(`log        ${range} in ${count(log.segments, "segment")}, ${log.bytes} bytes${torn}`);
  const database = await checkDatabase(dir, databaseOf(dir));
  const snapshots = new Map(database.snapshotSequences);
  const through = actorIdsOf(config).map((actorId) => snapshots.get(actorId) ?? 0);
  const oldest = Math.min(...through);
  const reach = `snapshots through ${oldest} at least, history through ${database.indexedSequence}`;
  say(`database   ${database.values} values in ${database.tables} tables; ${reach}`);
  const neededFrom = Math.min(oldest, database.indexedSequence) + 1;
  const files = { log, database, vault, neededFrom };
  relate(config, exchangeId, files);
  return files;
}

/** Each part is sound; together they must be one exchange, with nothing missing between them. */
function relate(config: Config, exchangeId: string, { log, database, neededFrom }: Files): void {
  const { firstSequence, lastSequence } = log;
  const actorIds = new Set(actorIdsOf(config));
  for (const [actorId, sequence] of database.snapshotSequences) {
    if (!actorIds.has(actorId)) throw instrumentNotConfigured(actorId);
    if (sequence > lastSequence)
      throw new DamagedError(`the log ends with ${lastSequence}, but actor ${actorId} has a snapshot of ${sequence}`);
  }
  if (database.indexedSequence > lastSequence)
    throw new DamagedError(`the log ends with ${lastSequence}, but the index goes through ${database.indexedSequence}`);
  if (firstSequence > neededFrom)
    throw new DamagedError(`the log begins with ${firstSequence}, but ${neededFrom} is needed`);
  const copy = readCopyRecord(config.data);
  if (copy === null) return;
  if (copy.exchangeId !== exchangeId) throw new DamagedError(`it was copied from another exchange: ${copy.exchangeId}`);
  if (lastSequence < copy.throughSequence)
    throw new DamagedError(`the log ends with ${lastSequence}, but was copied through ${copy.throughSequence}`);
}

function judge(ledger: ActorAudit, symbols: readonly ActorAudit[]): void {
  const audits = [ledger, ...symbols];
  const faults = audits.flatMap(({ actorId, faults }) => faults.map((fault) => `actor ${actorId}: ${fault}`));
  for (const { actorId, sizeLots } of symbols)
    if (sizeLots !== 0) faults.push(`actor ${actorId}: Σ size is ${sizeLots} lots, not 0`);
  const money = audits.reduce((sum, { moneyQuanta }) => sum + BigInt(moneyQuanta), 0n);
  const due = BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0");
  if (money !== due) faults.push(`all money is ${money} quanta, but deposits − withdrawals are ${due}`);
  if (faults.length > 0) throw new DamagedError(["the recovered state is not sound:", ...faults].join("\n  "));
}

function sayAudits(config: Config, ledger: ActorAudit, symbols: readonly ActorAudit[], say: Say): void {
  const due = printBigQuanta(BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0"));
  say(`state      all money is ${due} USDC, as deposits − withdrawals; no faults`);
  say(`           ledger ${ledger.digest}: ${count(ledger.accounts ?? 0, "account")}`);
  symbols.forEach(({ digest, openOrders = 0, positions = 0 }, i) => {
    const holds = `${count(openOrders, "open order")}, ${count(positions, "position")}`;
    say(`           ${config.instruments[i]?.symbol} ${digest}: ${holds}, Σ size 0`);
  });
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
