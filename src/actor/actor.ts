import { must } from "../assert.ts";
import type { AccountCells } from "../core/cells.ts";
import { type Actor, Tick } from "../core/messages.ts";
import { decodeShared } from "../wire/codec.ts";
import { pad8 } from "../wire/record.ts";
import type { Bell, RingConsumer, RingProducer } from "../wire/ring.ts";
import { SnapshotPartWriter } from "../wire/snapshot.ts";
import { type Control, RUNNING } from "./control.ts";
import { TurnWriter } from "./turn.ts";

/** A command in a worker's ring: u32 request id, u32 actor id, then the message. */
export const COMMAND_HEADER_BYTES = 8;
/** After so many turns in one drain the journal is woken and room is given back, so that both ends keep moving. */
const TURNS_PER_PUSH = 64;
const IDLE_WAIT_MS = 100;

export interface WorkerOptions {
  actors: readonly Actor[];
  cells: AccountCells;
  control: Control;
  commands: RingConsumer;
  bell: Bell;
  out: RingProducer;
  snapshotIntervalMs: number;
  /** The only clock that actors have: milliseconds since the epoch. */
  clock: () => number;
  /** No turn is stamped earlier. */
  notBefore: number;
}

/** The turns of all actors on one thread: drain → stamp → decide → ticket → ring. It knows nothing of symbols. */
export class ActorWorker {
  private readonly options: WorkerOptions;
  private readonly actors = new Map<number, Actor>();
  private readonly turn: TurnWriter;
  private readonly snapshots = new Map<number, { writer: SnapshotPartWriter; sent: number }>();
  private lastTime: number;
  private nextSnapshotAt = 0;

  constructor(options: WorkerOptions) {
    this.options = options;
    this.lastTime = options.notBefore;
    const waitForRoom = (): void => {
      options.out.ring();
      options.bell.announce();
      options.bell.wait(1);
    };
    this.turn = new TurnWriter(options.control, options.cells, options.out, waitForRoom);
    for (const actor of options.actors) {
      this.actors.set(actor.actorId, actor);
      const emitPart = (part: Uint8Array): void => this.pushPart(part, waitForRoom);
      const sent = options.control.snapshotOf(actor.actorId);
      this.snapshots.set(actor.actorId, { writer: new SnapshotPartWriter(actor.actorId, emitPart), sent });
    }
  }

  /** Runs until the exchange stops; then hands over a last snapshot of each actor. */
  run(): void {
    const { bell, control } = this.options;
    while (control.phase === RUNNING) {
      if (this.step()) continue;
      bell.announce();
      if (this.options.commands.peek() < 0 && control.phase === RUNNING) bell.wait(IDLE_WAIT_MS);
      bell.awake();
    }
    this.finish();
  }

  /** Returns whether there was anything to do. */
  step(): boolean {
    const taken = this.drain();
    const more = this.proceed();
    return taken > 0 || more || this.snapshotIfDue();
  }

  /** Takes what is left and hands over a last snapshot of each actor. */
  finish(): void {
    while (this.drain() > 0);
    for (const actor of this.actors.values()) this.snapshot(actor);
    this.options.out.ring();
  }

  /** Takes every command that is there. Returns how many. */
  private drain(): number {
    const { commands, out } = this.options;
    // Never backwards, also when the machine's clock is set back, be it between two starts: time in the log only grows.
    this.lastTime = Math.max(this.lastTime, this.options.clock());
    let count = 0;
    for (let at = commands.peek(); at >= 0; at = commands.peek()) {
      this.take(at);
      commands.next();
      count++;
      if (count % TURNS_PER_PUSH === 0) {
        commands.release();
        out.ring();
        // However many commands come, what they have begun goes on, too.
        this.proceed();
      }
    }
    if (count > 0) {
      commands.release();
      out.ring();
      if (this.lastTime >= this.nextSnapshotAt) this.snapshotIfDue();
    }
    return count;
  }

  /** A share of what each actor has under way: see Actor.proceed. Returns whether any has more. */
  private proceed(): boolean {
    const { turn } = this;
    let more = false;
    let pushed = false;
    for (const actor of this.options.actors) {
      turn.begin(this.lastTime);
      if (actor.proceed(turn)) more = true;
      if (!turn.hasEvents) continue;
      actor.settle(turn.push(actor.actorId, 0), this.lastTime);
      pushed = true;
    }
    if (pushed) this.options.out.ring();
    return more;
  }

  private take(at: number): void {
    const { commands } = this.options;
    const { view, bytes } = commands;
    const requestId = view.getUint32(at, true);
    const actorId = view.getUint32(at + 4, true);
    const actor = must(this.actors.get(actorId), `actor ${actorId} on this worker`);
    const command = decodeShared(view, bytes, at + COMMAND_HEADER_BYTES);
    const { turn } = this;
    turn.begin(this.lastTime);
    actor.decide(command, turn);
    if (turn.hasEvents) actor.settle(turn.push(actorId, requestId), this.lastTime);
    else if (command.type !== Tick.code) turn.push(actorId, requestId);
  }

  /** Hands each actor's changes to the store, unless its last ones are still on the way. Returns whether it did. */
  private snapshotIfDue(): boolean {
    const now = Math.max(this.lastTime, this.options.clock());
    if (now < this.nextSnapshotAt) return false;
    const first = this.nextSnapshotAt === 0;
    this.nextSnapshotAt = now + this.options.snapshotIntervalMs;
    if (first) return false;
    let any = false;
    for (const actor of this.actors.values()) {
      const { sent } = must(this.snapshots.get(actor.actorId), "snapshot");
      if (this.options.control.snapshotOf(actor.actorId) < sent || this.options.control.lastTicket === sent) continue;
      this.snapshot(actor);
      any = true;
    }
    if (any) this.options.out.ring();
    return any;
  }

  private snapshot(actor: Actor): void {
    const entry = must(this.snapshots.get(actor.actorId), "snapshot");
    entry.sent = this.options.control.lastTicket;
    entry.writer.begin(entry.sent, this.lastTime);
    actor.snapshot(entry.writer);
    entry.writer.end();
  }

  private pushPart(part: Uint8Array, waitForRoom: () => void): void {
    const { out } = this.options;
    let at = out.reserve(pad8(part.length));
    while (at < 0) {
      waitForRoom();
      at = out.reserve(pad8(part.length));
    }
    out.bytes.set(part, at);
    out.commit(part.length);
  }
}
