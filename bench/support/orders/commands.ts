import { FIRST_CUSTOMER_ACCOUNT, serialToId } from "../../../src/core/base/enums.ts";
import { CancelOrder, Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import { MID_TICKS, type OrderStream } from "./order-stream.ts";

/** Orders that rest and orders that cross belong to different accounts, so that nobody meets itself. */
export const RESTING_ACCOUNTS = 1000;
const CROSSING_ACCOUNTS = 64;
/** More than any stream's margin: 281 million USDC. */
const DEPOSIT_QUANTA = 2 ** 48;
/** A faucet cap that lets it through. */
export const FAUCET_CAP_QUANTA = 2 * DEPOSIT_QUANTA;

/** Opens and funds, on an empty ledger, the accounts that a stream's commands name. */
export function* openAccounts(restingAccounts = RESTING_ACCOUNTS, depositQuanta = DEPOSIT_QUANTA): Generator<Message> {
  for (let i = 0; i < restingAccounts + CROSSING_ACCOUNTS; i++) {
    yield { ...blank(OpenSession), address: `0x${i}`, tokenHash: String(i) } as Message;
    const accountId = FIRST_CUSTOMER_ACCOUNT + i;
    yield { type: Deposit.code, accountId, amountQuanta: depositQuanta, reference: "" } as Message;
  }
}

/** The price around which a stream trades. */
export const openingPrice = (): Message =>
  ({ type: SetIndexPrice.code, indexTicks: MID_TICKS, isGuarded: 0 }) as Message;

/**
 * A stream's operations as commands to a symbol that has seen no orders yet. Ask for each once, in order. Whose an order is
 * follows from its place among all adds: a look into a table of them, at random, would take a tenth of what an order does.
 */
export class Commands {
  private readonly stream: OrderStream;
  private readonly instrumentId: number;
  private readonly restingAccounts: number;
  private readonly place = blank(PlaceOrder);
  private readonly cancel = blank(CancelOrder);
  private adds = 0;

  constructor(stream: OrderStream, instrumentId: number, restingAccounts = RESTING_ACCOUNTS) {
    this.stream = stream;
    this.instrumentId = instrumentId;
    this.restingAccounts = restingAccounts;
  }

  /** An object that the next call fills in again. */
  at(i: number): Message {
    const { stream, place, cancel } = this;
    if (stream.isAdd[i] === 0) {
      const add = stream.target[i];
      cancel.accountId = FIRST_CUSTOMER_ACCOUNT + this.restingAccount(add);
      cancel.orderId = serialToId(add + 1, this.instrumentId);
      return cancel;
    }
    const add = this.adds++;
    const account = stream.crosses[i] === 1 ? this.crossingAccount(add) : this.restingAccount(add);
    place.accountId = FIRST_CUSTOMER_ACCOUNT + account;
    place.side = stream.side[i];
    place.priceTicks = stream.priceTicks[i];
    place.quantityLots = stream.lots[i];
    return place;
  }

  private restingAccount(add: number): number {
    return add % this.restingAccounts;
  }

  private crossingAccount(add: number): number {
    return this.restingAccounts + (add % CROSSING_ACCOUNTS);
  }
}

/** The place among all adds that an order id of Commands stands for. */
export const addOfOrder = (orderId: number, instrumentId: number): number => (orderId - instrumentId) / 256 - 1;
