import { must } from "../../assert.ts";
import type { Transaction } from "../protocol/actor.ts";
import { CancelOrder, type OrderBatch } from "../protocol/commands.ts";
import type { Event } from "../protocol/events.ts";
import { blank, MESSAGE_SCHEMAS, type Message, type MessageOf } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import { BatchItemEnd, type Reply } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

// Filled in again for each reply: a turn hands it on before it goes on (see Turn).
const itemEnd = blank(BatchItemEnd);

/** Counts the events of a turn. */
class BatchTransaction implements Transaction {
  readonly time: number;
  eventCount = 0;
  private readonly transaction: Transaction;

  constructor(transaction: Transaction) {
    this.transaction = transaction;
    this.time = transaction.time;
  }

  emit(event: Event): void {
    this.eventCount++;
    this.transaction.emit(event);
  }

  reply(reply: Reply): void {
    this.transaction.reply(reply);
  }
}

/**
 * Orders to place, amend and cancel, decided one after the other in one turn: nothing comes between them, and the log has
 * all of them or none. Each item gets what it would get as a command of its own, be it a refusal that changes nothing: it
 * sees what those before it have done, and may use the margin that they have freed. Prices between them fire nothing:
 * those at the turn's end do.
 */
export class BatchDecision {
  private readonly state: SymbolState;
  private readonly decideItem: (item: Message, transaction: Transaction) => void;

  /** `decideItem`: as a command of its own. */
  constructor(state: SymbolState, decideItem: (item: Message, transaction: Transaction) => void) {
    this.state = state;
    this.decideItem = decideItem;
  }

  decide({ items }: MessageOf<typeof OrderBatch>, transaction: Transaction): void {
    const { state } = this;
    const counted = new BatchTransaction(transaction);
    for (const item of items) {
      // An order needs room for what it meets, or its rest would expire; a cancel is a single event.
      if (state.progress.isHalfLong && item.type !== CancelOrder.code) refuse(counted, "BATCH_TOO_LONG");
      else this.decideItem(inSchemaShape(item), counted);
      state.progress.endPart(transaction.time);
      itemEnd.eventCount = counted.eventCount;
      counted.reply(itemEnd);
    }
  }
}

/** As the codec makes a command: what was packed as JSON has other hidden classes, and would slow all orders down. */
export const inSchemaShape = <M extends Message>(command: M): M =>
  Object.assign(blank(must(MESSAGE_SCHEMAS.get(command.type), "a command's type")), command) as M;
