import type { Config } from "../config.ts";
import { GATE } from "../core/base/enums.ts";
import { printBigQuanta, printQuanta } from "../core/base/units.ts";
import { gateOf } from "../core/ledger/solvency-check.ts";
import type { ActorAudit, SolvencyFigures } from "../core/protocol/payloads.ts";
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

/** Prints one line of the report. Called while the check goes on. */
type PrintLine = (line: string) => void;

/** The contents of the files, which are sound by themselves and together. */
interface Files {
  log: LogSummary;
  database: DatabaseSummary;
  /** With the folder's secret. */
  vault: Vault;
  /** The first sequence of the log that recovery or the index needs. */
  neededFrom: number;
}

/**
 * Checks the data folder `config.data`: every record of the log, every value of the database, and the state that they recover
 * to. Changes nothing. Nobody may use the folder meanwhile. Throws DamagedError, or another error of the part that finds the
 * damage. Throws ConfigError if the configured instruments are not those of the folder.
 */
export async function verifyFolder(config: Config, print: PrintLine): Promise<void> {
  const files = await verifyFiles(config, print);
  await withReadOnlyView(config.data, databaseOf(config.data), async (view) => {
    const database = openDatabase(view, { readOnly: true });
    try {
      const { log } = files;
      const logDir = logOf(config.data);
      const tail = readTail(logDir, files.neededFrom, log.lastSequence, files.database.indexedSequence, config);
      const exchange = new RecoveredExchange(config, database, logDir, log.lastSequence);
      requireMatchingSecret(config.data, files.vault, exchange.keys());
      const { ledger, symbols } = exchange.audits();
      checkAudits(ledger, symbols);
      printAudits(config, ledger, symbols, print);
      const { openOrders, positions, skipped } = compareHistory(database, exchange, ledger, tail);
      const since = database.keptSince();
      if (since > 0) print(`kept       history since ${new Date(since).toISOString()}; older rows were removed`);
      const rest = skipped === 0 ? "" : `; ${skipped} orders were left out, since the index is behind the log`;
      print(
        `history    ${openOrders} open orders of customers, ${count(positions, "position")} and the sum of all transfers agree with the actors${rest}`,
      );
    } finally {
      await database.close();
    }
  });
}

async function verifyFiles(config: Config, print: PrintLine): Promise<Files> {
  const dir = config.data;
  const { exchangeId, createdAt } = requireExchange(dir);
  const known = readInstruments(dir);
  if (known !== null) requireSameInstruments(known, config.instruments);
  const vault = new Vault(openSecret(dir));
  print(`exchange   ${exchangeId}, made ${createdAt}`);
  if (known === null) print("units      as configured: the folder has no record of its instruments yet");
  const log = verifyLog(logOf(dir), exchangeId);
  const torn =
    log.tornBytes === 0
      ? ""
      : `, then a torn tail of ${log.tornBytes} bytes, and nothing proves that it was acknowledged`;
  const range = log.records === 0 ? "no transaction" : `transactions ${log.firstSequence} to ${log.lastSequence}`;
  print(`log        ${range} in ${count(log.segments, "segment")}, ${log.bytes} bytes${torn}`);
  const database = await checkDatabase(dir, databaseOf(dir));
  const snapshots = new Map(database.snapshotSequences);
  const through = actorIdsOf(config).map((actorId) => snapshots.get(actorId) ?? 0);
  const oldest = Math.min(...through);
  const reach = `snapshots through ${oldest} at least, history through ${database.indexedSequence}`;
  print(`database   ${database.values} values in ${database.tables} tables; ${reach}`);
  const neededFrom = Math.min(oldest, database.indexedSequence) + 1;
  const files = { log, database, vault, neededFrom };
  checkTogether(config, exchangeId, files);
  return files;
}

/** Checks that the parts belong together: one exchange, with nothing missing between log, snapshots and index. */
function checkTogether(config: Config, exchangeId: string, { log, database, neededFrom }: Files): void {
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

function checkAudits(ledger: ActorAudit, symbols: readonly ActorAudit[]): void {
  const audits = [ledger, ...symbols];
  const faults = audits.flatMap(({ actorId, faults }) => faults.map((fault) => `actor ${actorId}: ${fault}`));
  for (const { actorId, sizeLots } of symbols)
    if (sizeLots !== 0) faults.push(`actor ${actorId}: Σ size is ${sizeLots} lots, not 0`);
  const money = audits.reduce((sum, { moneyQuanta }) => sum + BigInt(moneyQuanta), 0n);
  const expected = BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0");
  if (money !== expected) faults.push(`all money is ${money} quanta, but deposits − withdrawals are ${expected}`);
  if (faults.length > 0) throw new DamagedError(["the recovered state has faults:", ...faults].join("\n  "));
}

function printAudits(config: Config, ledger: ActorAudit, symbols: readonly ActorAudit[], print: PrintLine): void {
  const total = printBigQuanta(BigInt(ledger.depositsMinusWithdrawalsQuanta ?? "0"));
  print(`state      all money is ${total} USDC, equal to deposits − withdrawals; no faults`);
  if (ledger.solvency !== undefined) print(`           ${solvencyLine(ledger.solvency)}`);
  print(`           ledger ${ledger.digest}: ${count(ledger.accounts ?? 0, "account")}`);
  symbols.forEach(({ digest, openOrders = 0, positions = 0 }, i) => {
    const holds = `${count(openOrders, "open order")}, ${count(positions, "position")}`;
    print(`           ${config.instruments[i]?.symbol} ${digest}: ${holds}, Σ size 0`);
  });
}

/** Withdrawals are gated, too, if the exchange is not solvent. */
function solvencyLine(figures: SolvencyFigures): string {
  const { fundEquityQuanta, fundNotionalQuanta, deficitQuanta } = figures;
  const verdict = gateOf(figures) === GATE.OPEN ? "solvent" : "not solvent";
  const [equity, notional, deficit] = [fundEquityQuanta, fundNotionalQuanta, deficitQuanta].map(printQuanta);
  return `${verdict}: the insurance fund has ${equity} USDC and positions of ${notional}; accounts below zero owe ${deficit}`;
}

const count = (n: number, what: string): string => `${n} ${what}${n === 1 ? "" : "s"}`;
