import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { HALT_REASONS, INSURANCE_ACCOUNT, LEDGER } from "../../src/core/base/enums.ts";
import {
  Audit,
  CloseSession,
  CreateKey,
  Deposit,
  DryRunOrder,
  HaltSymbol,
  MoveMargin,
  OpenSession,
  PlaceExtended,
  PlaceOrder,
  PlaceTrigger,
  PrepareWithdrawal,
  ReadOrders,
  ReadPosition,
  ResumeSymbol,
  RevokeKey,
  SetMarginMode,
  Withdraw,
} from "../../src/core/protocol/commands.ts";
import type { Message, MessageOf } from "../../src/core/protocol/message-schema.ts";
import { type Database, openDatabase } from "../../src/store/database/database.ts";
import { make, START } from "../core/support/exchange.ts";
import { FREE, instrument, ODD } from "../core/support/instruments.ts";
import { richStep, type Step } from "../core/support/steps.ts";
import { Traffic } from "../core/support/traffic.ts";
import { Random } from "../e2e/support/random.ts";
import { Auditor } from "./auditor.ts";
import { failure, SimDisk } from "./disk.ts";
import { Machine, type Tampering } from "./machine.ts";
import { Killed, Scheduler, type Thread } from "./scheduler.ts";

/** Few transfers are recent, so that most references are looked up in the database. */
const LEDGER_SETTINGS = { faucetCapQuanta: 1e9, withdrawalDelayMs: 700, recentTransfers: 3 };
const MAX_ACCOUNTS = 64;
/** Commands that can have limits of an API key, and that can be dry runs. */
const ORDERS = [PlaceOrder, PlaceExtended, PlaceTrigger];
const OPERATOR_REASON = HALT_REASONS.indexOf("OPERATOR");
const HOUR_MS = 3_600_000;
const LAST_JUMP_MS = 20 * HOUR_MS;

export interface SimulationReport {
  seed: number;
  steps: number;
  transactions: number;
  replies: number;
  kills: number;
  powerCuts: number;
  stops: number;
  diskFaults: number;
  switches: number;
  /** Threads that threw and were rebuilt. */
  throws: number;
  unseen: number;
  findings: string[];
  /** The hash of everything that clients saw: the same for two runs of one seed. */
  digest: string;
}

/** Runs an exchange from an empty folder; the seed alone decides everything. Stops at the first finding. */
export async function runSimulation(seed: number, steps: number, tampering: Tampering = {}): Promise<SimulationReport> {
  // The database is real, not simulated. Its commits are atomic and durable.
  const dir = fs.mkdtempSync(join(fs.existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "perpd-simulation-"));
  const database = openDatabase(dir, { probe: false });
  try {
    return new Markets(seed, database, tampering).run(steps);
  } finally {
    // Closed before the next one: an open LMDB keeps its pages in memory.
    await database.close();
    fs.rmSync(dir, { recursive: true });
    await collectGarbage();
  }
}

/** V8 does not count shared memory: without this, rings of ended processes would take gigabytes. */
async function collectGarbage(): Promise<void> {
  // Callbacks that wait for the event loop still hold references to them.
  await new Promise((resolve) => setImmediate(resolve));
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

class Markets {
  private readonly seed: number;
  private readonly random: Random;
  private readonly scheduler: Scheduler;
  private readonly disk: SimDisk;
  private readonly auditor: Auditor;
  private readonly machineOptions: () => ConstructorParameters<typeof Machine>[0];
  private readonly traffic: Traffic<{
    time: number;
    ask(actorId: number, command: Message): Message;
    carryOut(): never;
  }>;
  private readonly instruments = [instrument(ODD), instrument(FREE)];
  private readonly transfers: Message[] = [];
  private machine: Machine;
  private now = START;
  /** The monotonic clock. */
  private passedMs = 0;
  private asked = 0;
  private nextName = 1;
  private kills = 0;
  private powerCuts = 0;
  private stops = 0;
  private diskFaults = 0;
  /** The current weight of each thread in the choice of the next one. */
  private weights: number[] = [];

  constructor(seed: number, database: Database, tampering: Tampering) {
    this.seed = seed;
    const random = new Random(seed);
    this.random = random;
    this.scheduler = new Scheduler(random);
    this.disk = new SimDisk(random);
    this.disk.onCall = () => this.scheduler.point();
    this.disk.writesShort = random.next() < 0.3;
    this.auditor = new Auditor(this.instruments, LEDGER_SETTINGS, MAX_ACCOUNTS, this.disk);
    const workers = random.between(1, 3);
    const snapshotIntervalMs = random.pick([50, 500, 5000]);
    const segmentBytes = random.pick([8192, 16_384, 65_536]);
    this.machineOptions = () => ({
      instruments: this.instruments,
      ledger: LEDGER_SETTINGS,
      maxAccounts: MAX_ACCOUNTS,
      ...{ workers, segmentBytes, snapshotIntervalMs, database, random, tampering },
      disk: this.disk,
      scheduler: this.scheduler,
      clock: () => this.now,
      monotonic: () => this.passedMs,
    });
    this.machine = this.start();
    const markets = this;
    this.traffic = new Traffic(
      {
        get time() {
          return markets.now;
        },
        ask: (actorId, command) => this.askNow(actorId, command)[0] as Message,
        carryOut: () => {
          throw new Error("requests are sent by the simulation");
        },
      },
      this.instruments.map(({ id }) => id),
    );
  }

  run(steps: number): SimulationReport {
    const { random, scheduler, auditor } = this;
    let done = 0;
    scheduler.instrument(() => {
      for (const { actorId, command } of this.traffic.opening()) this.askNow(actorId, command);
      const commands = fc.sample(richStep, { seed: this.seed, numRuns: steps });
      for (; done < steps && auditor.findings.length === 0; done++) {
        if (done % 100 === 0) this.changeWeights();
        this.survive(() => this.act(random.next(), commands[done] as Step));
      }
      scheduler.killAfter(Number.POSITIVE_INFINITY);
      this.disk.fault = () => null;
      if (auditor.findings.length === 0) this.survive(() => this.audit());
      if (auditor.findings.length === 0) this.survive(() => this.stopAndStart());
      if (auditor.findings.length === 0) this.survive(() => this.audit());
    });
    const { seed, kills, powerCuts, stops, diskFaults } = this;
    const { transactions, replies, unseen, findings } = auditor;
    const counts = { seed, steps: done, transactions, replies, kills, powerCuts, stops, diskFaults, unseen };
    return { ...counts, switches: scheduler.switches, throws: scheduler.throws, findings, digest: auditor.digest() };
  }

  /** Does one random action. `dice`: from 0 to 1. */
  private act(dice: number, step: Step): void {
    const { random, machine, scheduler } = this;
    const passedMs = random.between(0, 20);
    this.now += passedMs;
    this.passedMs += passedMs;
    machine.delay();
    if (dice < 0.6) return this.sendFrom(step);
    if (dice < 0.93) return scheduler.run(this.pickThread());
    if (dice < 0.95) return scheduler.run(machine.front, () => machine.engine.tick());
    if (dice < 0.96) this.setClock();
    else if (dice < 0.975) this.audit();
    else if (dice < 0.978) this.stopAndStart();
    else if (dice < 0.988) scheduler.throwAfter(random.between(1, 400));
    else if (dice < 0.995) scheduler.killAfter(random.between(1, 400));
    else this.breakDisk();
  }

  /** Sets the clock forward or back. It stays within a day, after which client order ids are forgotten. */
  private setClock(): void {
    const { random } = this;
    this.now = Math.min(this.now + random.between(-HOUR_MS, 2 * HOUR_MS), START + LAST_JUMP_MS);
  }

  private changeWeights(): void {
    const { random, scheduler } = this;
    this.weights = Array.from({ length: 6 }, () => random.next() ** 2);
    scheduler.chance = random.pick([0, 0.01, 0.1]);
  }

  private pickThread(): Thread {
    const { front, workers, journal, store } = this.machine;
    const threads = [front, journal, store, ...workers];
    const sums: number[] = [];
    for (const i of threads.keys()) sums.push((sums.at(-1) ?? 0) + (this.weights[i] as number));
    const dice = this.random.next() * (sums.at(-1) as number);
    return threads[sums.findIndex((sum) => dice < sum)] ?? front;
  }

  private sendFrom(step: Step): void {
    const { random } = this;
    if (random.next() < 0.8) {
      const { actorId, command } = this.traffic.command(step);
      this.now += step.waitMs;
      this.ask(actorId, this.named(this.limited(command)));
      return;
    }
    const accountId = random.pick(this.traffic.accounts);
    const symbol = random.pick(this.instruments).id;
    const name = `${random.between(1, 12)}`;
    const record = { label: name, permissions: [], allowedIps: [], sealedSecret: name, expiresAt: 0, createdAt: 1 };
    const address = `0x${this.traffic.accounts.indexOf(accountId)}`;
    const [actorId, command] = random.pick<[number, Message]>([
      [symbol, make(ReadOrders, { accountId })],
      [symbol, make(ReadPosition, { accountId })],
      [LEDGER, make(OpenSession, { address, tokenHash: name, expiresAt: this.now + random.between(1, 5000) })],
      [LEDGER, make(CloseSession, { accountId, tokenHash: name })],
      [LEDGER, make(CreateKey, { accountId, apiKey: name, record })],
      [LEDGER, make(RevokeKey, { accountId, apiKey: name })],
      [random.pick([LEDGER, symbol]), make(Audit)],
      [LEDGER, this.transfers.length === 0 ? make(Audit) : random.pick(this.transfers)],
      [symbol, make(SetMarginMode, { accountId, marginMode: random.between(0, 1) })],
      [symbol, make(MoveMargin, { accountId, amountQuanta: random.between(-2000, 4000) })],
      [symbol, make(HaltSymbol, { mode: random.between(1, 3), reason: OPERATOR_REASON })],
      [symbol, make(ResumeSymbol)],
      [symbol, make(ResumeSymbol)],
      [symbol, make(ResumeSymbol)],
      [symbol, make(PrepareWithdrawal, { accountId })],
      [LEDGER, make(Deposit, { accountId: INSURANCE_ACCOUNT, amountQuanta: random.between(1, 3000) })],
    ]);
    this.ask(actorId, command);
  }

  /** Gives some orders the limits of an API key, and makes some of these dry runs. */
  private limited(command: Message): Message {
    const { random } = this;
    const isOrder = ORDERS.some(({ code }) => code === command.type);
    if (!isOrder || random.next() < 0.8) return command;
    const limits = {
      keyOrderQuanta: random.pick([0, random.between(500, 30_000)]),
      keyPositionQuanta: random.pick([0, random.between(500, 60_000)]),
      keyLeverage: random.pick([0, 0, random.between(1, 12)]),
    };
    const order = { ...command, ...limits } as MessageOf<typeof DryRunOrder>["order"];
    return random.next() < 0.5 ? order : make(DryRunOrder, { order });
  }

  /** Gives every second transfer a reference, so that it can be sent again. */
  private named(command: Message): Message {
    const isTransfer = command.type === Deposit.code || command.type === Withdraw.code;
    if (!isTransfer || this.random.next() < 0.5) return command;
    const named = { ...command, reference: `r${this.nextName++}` } as Message;
    this.transfers.push(named);
    return named;
  }

  private ask(actorId: number, command: Message, then: (replies: Message[]) => void = () => {}): boolean {
    const { machine, auditor, scheduler } = this;
    let sent = false;
    scheduler.run(machine.front, () => {
      const requestId = this.asked + 1;
      // Before it is sent: its transaction may be in the log before request() returns.
      auditor.onAsk(requestId, actorId, command);
      sent = machine.engine.request(actorId, command, (transaction) =>
        scheduler.quietly(() => {
          if (transaction === null) return auditor.onTurnedAway(requestId);
          auditor.onReply(requestId, transaction);
          then(transaction.messages.slice(transaction.eventCount).map((message) => ({ ...message })));
        }),
      );
      if (sent) this.asked = requestId;
      else auditor.onTurnedAway(requestId);
    });
    return sent;
  }

  private askNow(actorId: number, command: Message): Message[] {
    let answer: Message[] = [];
    this.ask(actorId, command, (replies) => {
      answer = replies;
    });
    this.settle();
    return answer;
  }

  private settle(): void {
    if (!this.machine.settle()) this.auditor.findings.push("work never drains");
  }

  private audit(): void {
    // No thread may throw during an audit: it would answer nothing.
    this.scheduler.throwAfter(Number.POSITIVE_INFINITY);
    this.settle();
    this.scheduler.quietly(() => this.auditor.settled(this.machine));
    const reports = [LEDGER, ...this.instruments.map(({ id }) => id)].flatMap((actorId) =>
      this.askNow(actorId, make(Audit)),
    );
    this.scheduler.quietly(() => {
      this.auditor.settled(this.machine);
      this.auditor.balanced(reports);
    });
  }

  private stopAndStart(): void {
    this.scheduler.throwAfter(Number.POSITIVE_INFINITY);
    this.settle();
    this.machine.stop();
    this.scheduler.quietly(() => this.auditor.settled(this.machine));
    this.stops++;
    this.end(false);
  }

  /** Makes the next disk call of a random kind fail, once. */
  private breakDisk(): void {
    const { random, disk } = this;
    const call = random.pick([
      "fdatasyncSync",
      "writeSync",
      "renameSync",
      "openSync",
      "fsyncSync",
      "unlinkSync",
    ] as const);
    const code = random.pick(["EIO", "ENOSPC"]);
    disk.fault = (name, path) => {
      if (name !== call) return null;
      disk.fault = () => null;
      this.diskFaults++;
      return failure(code, path);
    };
  }

  /** Runs `work`. If the process is killed or a thread dies, starts another process. */
  private survive(work: () => void): void {
    const faults = this.diskFaults;
    try {
      work();
    } catch (error) {
      const isExpected = error instanceof Killed || this.diskFaults > faults;
      if (!isExpected) {
        this.auditor.findings.push(`a thread died: ${(error as Error).stack}`);
        return;
      }
      this.kills++;
      this.end(this.random.next() < 0.5);
    }
  }

  private end(withPower: boolean): void {
    for (let cut = withPower; ; cut = this.random.next() < 0.5) {
      this.scheduler.quietly(() => {
        if (cut) this.disk.cutPower();
        else this.disk.kill();
      });
      if (cut) this.powerCuts++;
      this.scheduler.reset();
      // A start can be killed, too.
      if (this.random.next() < 0.2) this.scheduler.killAfter(this.random.between(1, 60));
      const faults = this.diskFaults;
      try {
        this.machine = this.start();
        break;
      } catch (error) {
        if (error instanceof Killed || this.diskFaults > faults) continue;
        this.auditor.findings.push(`the process does not start: ${(error as Error).stack}`);
        return;
      }
    }
  }

  private start(): Machine {
    const machine = new Machine(this.machineOptions());
    this.scheduler.killAfter(Number.POSITIVE_INFINITY);
    this.asked = 0;
    this.scheduler.quietly(() => this.auditor.restarted(machine.control.lastSequence));
    machine.engine.onReleased((transaction) =>
      this.scheduler.quietly(() => {
        this.auditor.onReleased(transaction);
        this.traffic.note(transaction.messages.slice(0, transaction.eventCount));
      }),
    );
    return machine;
  }
}
