import { must } from "../../assert.ts";
import type { Message } from "../../core/protocol/message-schema.ts";
import { encodeMessage, maxMessageBytes } from "../../wire/codec.ts";
import type { RingProducer } from "../../wire/ring.ts";
import { COMMAND_HEADER_BYTES } from "../threads/actor-worker.ts";

/**
 * After this many commands their worker is woken at once, so that it works while more requests are read. Waking costs
 * more than a command does: with a smaller number the wakes cost more than they save.
 */
const COMMANDS_PER_WAKE = 16;

/** The command ring of one actor worker. */
interface CommandQueue {
  commands: RingProducer;
  /** The worker has died: nothing is sent to it. */
  isDown: boolean;
  /** The worker has commands and takes none. */
  isUnresponsive: boolean;
  /** Commands written since the worker was last woken. */
  unwokenCommands: number;
}

/** Routes commands to the rings of the actor workers. A worker is known by its number: the order of add(). */
export class CommandQueues {
  private readonly queues: CommandQueue[] = [];
  /** By actor id: the number of its worker. */
  private readonly workerOfActor: (number | undefined)[] = [];
  private willWake = false;

  /** Adds a worker and the actors that are pinned to it. */
  add(commands: RingProducer, actorIds: readonly number[]): void {
    for (const actorId of actorIds) this.workerOfActor[actorId] = this.queues.length;
    this.queues.push({ commands, isDown: false, isUnresponsive: false, unwokenCommands: 0 });
  }

  markDown(worker: number): void {
    this.queues[worker].isDown = true;
  }

  /** Another thread has taken the worker's place. It reads a ring of its own. */
  markUp(worker: number, commands: RingProducer): void {
    const queue = this.queues[worker];
    queue.commands = commands;
    queue.isDown = false;
    queue.isUnresponsive = false;
    queue.unwokenCommands = 0;
  }

  /** The number of the actor's worker. Throws AssertionError for an unknown actor. */
  workerOf(actorId: number): number {
    return must(this.workerOfActor[actorId], "the worker of an actor");
  }

  isDown(worker: number): boolean {
    return this.queues[worker].isDown;
  }

  setUnresponsive(worker: number, isUnresponsive: boolean): void {
    this.queues[worker].isUnresponsive = isUnresponsive;
  }

  isUnresponsive(worker: number): boolean {
    return this.queues[worker].isUnresponsive;
  }

  /** Less than a quarter of the worker's ring is free. */
  isCrowded(worker: number): boolean {
    return this.queues[worker].commands.isCrowded;
  }

  /** False when the worker is down or its ring is full: nothing was sent. */
  send(worker: number, actorId: number, command: Message, requestId: number): boolean {
    const queue = this.queues[worker];
    if (queue.isDown) return false;
    const { commands } = queue;
    const at = commands.reserve(COMMAND_HEADER_BYTES + maxMessageBytes(command));
    if (at < 0) return false;
    commands.view.setUint32(at, requestId, true);
    commands.view.setUint32(at + 4, actorId, true);
    const end = encodeMessage(commands.view, commands.bytes, at + COMMAND_HEADER_BYTES, command);
    commands.commit(end - at);
    if (++queue.unwokenCommands === COMMANDS_PER_WAKE) wakeWorker(queue);
    else if (!this.willWake) {
      this.willWake = true;
      setImmediate(this.wakeWorkers);
    }
    return true;
  }

  /** Sends the command to every actor whose worker can take it. Nobody waits for a reply. */
  sendToAll(command: Message): void {
    this.workerOfActor.forEach((worker, actorId) => {
      if (worker !== undefined) this.send(worker, actorId, command, 0);
    });
  }

  /** Runs once for all requests of an event-loop iteration, because waking a thread costs more than a request. */
  private readonly wakeWorkers = (): void => {
    this.willWake = false;
    for (const queue of this.queues) if (queue.unwokenCommands > 0) wakeWorker(queue);
  };
}

function wakeWorker(queue: CommandQueue): void {
  queue.unwokenCommands = 0;
  queue.commands.wake();
}
