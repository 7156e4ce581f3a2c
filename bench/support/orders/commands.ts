import { FIRST_CUSTOMER_ACCOUNT, serialToId } from "../../../src/core/base/enums.ts";
import { CancelOrder, Deposit, OpenSession, PlaceOrder, SetIndexPrice } from "../../../src/core/protocol/commands.ts";
import { blank, type Message } from "../../../src/core/protocol/message-schema.ts";
import { MID_TICKS, type OrderStream } from "./order-stream.ts";

/** Resting and crossing orders belong to different accounts, so that no self-trades happen. */
export const RESTING_ACCOUNTS = 1000;
const CROSSING_ACCOUNTS = 64;
/** More than any stream needs: 281 million USDC. */
const DEPOSIT_QUANTA = 2 ** 48;
/** A faucet cap above that deposit. */
export const FAUCET_CAP_QUANTA = 2 * DEPOSIT_QUANTA;

/** Commands that open and fund the accounts of a stream, on an empty ledger. */
export function* openAccounts(restingAccounts = RESTING_ACCOUNTS, depositQuanta = DEPOSIT_QUANTA): Generator<Message> {
  for (let i = 0; i < restingAccounts + CROSSING_ACCOUNTS; i++) {
    yield { ...blank(OpenSession), address: `0x${i}`, tokenHash: String(i) } as Message;
    const accountId = FIRST_CUSTOMER_ACCOUNT + i;
    yield { type: Deposit.code, accountId, amountQuanta: depositQuanta, reference: "" } as Message;
  }
}

/** Sets the price around which a stream trades. */
export const openingPrice = (): Message =>
  ({ type: SetIndexPrice.code, indexTicks: MID_TICKS, isGuarded: 0, operator: "" }) as Message;

/**
 * The operations of a stream as commands to a new symbol. Request each once, in order. The owner of an order follows
 * from its number among all adds: a random table look-up would cost a tenth of an order.
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

  /** The command of operation `i`. The next call reuses the object. */
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

/** The number among all adds that belongs to an order id of Commands. */
export const addOfOrder = (orderId: number, instrumentId: number): number => (orderId - instrumentId) / 256 - 1;
