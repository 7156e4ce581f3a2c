import { must } from "../../assert.ts";
import type { Transaction } from "../protocol/actor.ts";
import { CancelOrder, type OrderBatch } from "../protocol/commands.ts";
import type { Event } from "../protocol/events.ts";
import { blank, MESSAGE_SCHEMAS, type Message, type MessageOf } from "../protocol/message-schema.ts";
import { refuse } from "../protocol/refusals.ts";
import { BatchItemEnd, type Reply } from "../protocol/replies.ts";
import type { SymbolState } from "../state/symbol-state.ts";

// Reused for each reply: reply() reads it and keeps nothing (see Transaction).
const itemEnd = blank(BatchItemEnd);

/** Counts the events of a batch, so that replies can say which events belong to which item. */
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
 * Decides the items of a batch (place, amend, cancel) one after the other in one transaction: no other command comes
 * between them, and the log has all of them or none. Each item is decided like a command of its own. A refused item
 * changes nothing and does not stop the others. An item may use the margin that items before it have freed. Triggers are
 * checked once, at the prices at the end of the batch.
 */
export class BatchDecision {
  private readonly state: SymbolState;
  private readonly decideItem: (item: Message, transaction: Transaction) => void;

  /** `decideItem` decides an item like a command of its own. */
  constructor(state: SymbolState, decideItem: (item: Message, transaction: Transaction) => void) {
    this.state = state;
    this.decideItem = decideItem;
  }

  decide({ items }: MessageOf<typeof OrderBatch>, transaction: Transaction): void {
    const { state } = this;
    const counted = new BatchTransaction(transaction);
    for (const item of items) {
      // An order needs room for the makers that it meets, or its rest would expire. A cancel is a single event.
      if (state.progress.isHalfLong && item.type !== CancelOrder.code) refuse(counted, "BATCH_TOO_LONG");
      else this.decideItem(inSchemaShape(item), counted);
      state.progress.endPart(transaction.time);
      itemEnd.eventCount = counted.eventCount;
      counted.reply(itemEnd);
    }
  }
}

/**
 * A copy with the hidden class that the codec gives to commands. Commands from JSON have other hidden classes, which would
 * make the code of all orders polymorphic, and slower.
 */
export const inSchemaShape = <M extends Message>(command: M): M =>
  Object.assign(blank(must(MESSAGE_SCHEMAS.get(command.type), "a command's type")), command) as M;
