import type { RefusalCode } from "../../core/protocol/refusals.ts";
import { type ErrorSpec, POSITION_SETTINGS, TRADE_ONE_SYMBOL } from "./error-spec.ts";

/** Refusals of the engine and the ledger: nothing was done. */
export const ENGINE_ERRORS = {
  INSUFFICIENT_MARGIN: {
    status: 422,
    problem: "The account does not have enough free margin.",
    remedy:
      "Ask for less, cancel orders or deposit more; details has the required and the available amount, unless the order " +
      "would take lots that an iceberg hides. With " +
      "details.openingRate that rate of the notional is needed to open: wait, or lower the leverage of an isolated position.",
    groups: ["PLACE", "AMEND", ...POSITION_SETTINGS],
  },
  LOSS_NOT_SETTLED: {
    status: 422,
    problem:
      "The order would lose more against the mark price than the account has in settled money: its equity without unrealised gains.",
    remedy:
      "Use a price nearer to the mark price or a smaller quantity, or close a part of the position with gains first. " +
      "details has the loss and what is settled, unless the order would take lots that an iceberg hides.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION"],
  },
  PRICE_OUT_OF_BAND: {
    status: 422,
    problem:
      "The price is outside the band around the mark price, or beyond the bankruptcy price of the position that it closes.",
    remedy: "Use a price no further than details.limit.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION"],
  },
  PRICE_TOO_HIGH: {
    status: 400,
    problem: "The price is above the instrument's maxPrice.",
    remedy: "Use a price of at most details.limit.",
    groups: ["PLACE", "AMEND", "BATCH", "CLOSE_POSITION", "SET_INDEX_PRICE"],
  },
  NO_PRICE_LEVEL: {
    status: 422,
    problem: "The book does not have the price level that priceMatch names.",
    remedy: "Use another priceMatch, or send a price.",
    retryable: true,
    groups: ["PLACE", "AMEND"],
  },
  QUANTITY_TOO_SMALL: {
    status: 400,
    problem: "The quantity is below the instrument's minQuantity.",
    remedy: "Use a quantity of at least details.limit.",
    groups: ["PLACE", "AMEND", "BATCH", "CLOSE_POSITION"],
  },
  QUANTITY_TOO_LARGE: {
    status: 400,
    problem: "The quantity is above the instrument's maxQuantity.",
    remedy: "Use a quantity of at most details.limit, or several orders.",
    groups: ["PLACE", "AMEND", "BATCH", "CLOSE_POSITION"],
  },
  DISPLAY_QUANTITY_OUT_OF_RANGE: {
    status: 400,
    problem:
      "displayQuantity must be at least minQuantity and a hundredth of what may still trade, and at most the order's quantity.",
    remedy: "Use a displayQuantity from details.min to details.max.",
    groups: ["PLACE", "AMEND"],
  },
  NOTIONAL_TOO_SMALL: {
    status: 400,
    problem: "Price times quantity is below the instrument's minNotional.",
    remedy: "Use a quantity of at least details.nearest.",
    groups: ["PLACE", "AMEND"],
  },
  POSITION_LIMIT: {
    status: 422,
    problem: "The position with its open orders would exceed the largest position that is allowed.",
    remedy: "Reduce the quantity or cancel orders; details.limit is the largest position.",
    groups: ["PLACE", "AMEND"],
  },
  OPEN_INTEREST_CAP: {
    status: 422,
    problem: "The order could raise the symbol's open interest above its cap.",
    remedy:
      "Use a quantity of at most details.nearest, or wait until the open interest falls; details.limit is the cap.",
    groups: ["PLACE", "AMEND"],
  },
  TOO_MANY_OPEN_ORDERS: {
    status: 422,
    problem: "The account already has the maximum number of open orders in this symbol.",
    remedy: "Cancel an order first; details.limit is the maximum.",
    groups: ["PLACE", "CLOSE_POSITION"],
  },
  POST_ONLY_WOULD_TRADE: {
    status: 422,
    problem: "The post-only order would trade at once.",
    remedy: "Use a price that does not reach details.best, or send the order without postOnly.",
    groups: ["PLACE", "AMEND"],
  },
  REDUCE_ONLY_NO_POSITION: {
    status: 422,
    problem: "There is no position that this reduce-only order could reduce.",
    remedy: "Place it while a position on the opposite side is open.",
    groups: ["PLACE"],
  },
  NO_POSITION: {
    status: 422,
    problem: "The account has no open position in this symbol.",
    remedy: "Use a symbol of GET /positions, which lists the open positions.",
    groups: ["CLOSE_POSITION", "MOVE_MARGIN"],
  },
  POSITION_NOT_ISOLATED: {
    status: 422,
    problem: "The position has no margin of its own, because its margin mode is CROSS.",
    remedy: "Set the margin mode to ISOLATED first.",
    groups: ["MOVE_MARGIN"],
  },
  OPEN_ORDERS_EXIST: {
    status: 422,
    problem: "The margin mode cannot change while the account has orders in the symbol's book.",
    remedy: "Cancel these orders first; details.openOrders is their number.",
    groups: ["SET_MARGIN_MODE"],
  },
  LEVERAGE_OUT_OF_RANGE: {
    status: 422,
    problem: "The leverage is out of range.",
    remedy: "Use a leverage from 1 to details.limit.",
    groups: ["SET_LEVERAGE"],
  },
  NO_MARK_PRICE: {
    status: 422,
    problem: "The symbol has no mark price yet, because it has had no index price.",
    remedy: "Try again once the ticker shows a markPrice.",
    retryable: true,
    groups: ["PLACE", "CLOSE_POSITION"],
  },
  SYMBOL_HALTED: {
    status: 422,
    problem: "Trading in this symbol is halted.",
    remedy: "Wait until the symbol's status allows the request; details.status is the present one.",
    retryable: true,
    groups: [...TRADE_ONE_SYMBOL, "WITHDRAWAL"],
  },
  STALE_PRICE: {
    status: 422,
    problem: "The index price is too old: only cancels and reduce-only orders are accepted.",
    remedy: "Try again after the next index price.",
    retryable: true,
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", ...POSITION_SETTINGS, "WITHDRAWAL"],
  },
  PRICE_PENDING: {
    status: 422,
    problem:
      "The index price has jumped to details.pending and waits for confirmation: only cancels and reduce-only orders are accepted.",
    remedy: "Try again after details.missing more index prices.",
    retryable: true,
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", ...POSITION_SETTINGS, "WITHDRAWAL"],
  },
  PRICE_JUMP: {
    status: 422,
    problem: "The index price jumped too far to be used without confirmation.",
    remedy: "Send prices near it until it is confirmed; details.missing is how many more must agree.",
    retryable: true,
    groups: ["SET_INDEX_PRICE"],
  },
  WOULD_TRIGGER: {
    status: 422,
    problem: "The trigger price is reached already, so the order would trigger at once.",
    remedy: "Use a trigger price beyond details.current, or an order without a trigger.",
    groups: ["PLACE", "AMEND"],
  },
  TOO_MANY_TRIGGER_ORDERS: {
    status: 422,
    problem: "The account already has the maximum number of untriggered orders in this symbol.",
    remedy: "Cancel one of them first; details.limit is the maximum.",
    groups: ["PLACE"],
  },
  TOO_MANY_TRAILING_ORDERS: {
    status: 422,
    problem: "All accounts together have the maximum number of trailing orders in this symbol.",
    remedy:
      "Use a stop with a fixed trigger, or try again later. details.limit is the maximum; it is higher for an order with closePosition.",
    retryable: true,
    groups: ["PLACE"],
  },
  GOOD_TILL_DATE_PASSED: {
    status: 422,
    problem: "The goodTillDate is in the past.",
    remedy: "Use a later time, and compare your clock with serverTime.",
    groups: ["PLACE", "AMEND"],
  },
  REQUEST_EXPIRED: {
    status: 422,
    problem: "The request reached the engine after its expiresAt.",
    remedy: "Send it again with a later expiresAt, if you still want it.",
    groups: ["PLACE", "AMEND", "CLOSE_POSITION", ...POSITION_SETTINGS],
  },
  BATCH_TOO_LONG: {
    status: 422,
    problem: "The items before this one used up the work of a batch; nothing was done for this item.",
    remedy: "Send this item again in another request.",
    retryable: true,
    groups: ["BATCH_ITEM"],
  },
  ORDER_NOT_FOUND: {
    status: 404,
    problem: "The account has no such order.",
    remedy: "Check the id: GET /orders lists open orders and GET /orders/history closed ones.",
    groups: ["AMEND", "CANCEL", "FIND_ORDER"],
  },
  ORDER_NOT_OPEN: {
    status: 409,
    problem: "The order is no longer open.",
    remedy: "Read how it ended with GET /orders and its id.",
    groups: ["AMEND", "CANCEL"],
  },
  ORDER_WAITS: {
    status: 422,
    problem: "This field cannot be amended on an untriggered order.",
    remedy: "Cancel the order and place another.",
    groups: ["AMEND"],
  },
  ORDER_DOES_NOT_WAIT: {
    status: 422,
    problem: "This field can only be amended on an untriggered order.",
    remedy: "Leave the field out, or cancel the order and place another.",
    groups: ["AMEND"],
  },
  ORDER_NOT_GTD: {
    status: 422,
    problem: "Only an order with timeInForce GTD has a goodTillDate to amend.",
    remedy: "Cancel the order and place it with timeInForce GTD.",
    groups: ["AMEND"],
  },
  ORDER_PARTIALLY_FILLED: {
    status: 422,
    problem: "The order has filled in part, so its takeProfit and stopLoss are orders of their own.",
    remedy: "Amend or cancel these orders. Their parentOrderId is this order.",
    groups: ["AMEND"],
  },
  ORDER_REDUCE_ONLY: {
    status: 422,
    problem: "A reduce-only order cannot have takeProfit or stopLoss: they protect a position that the order opens.",
    remedy: "Leave the field out.",
    groups: ["AMEND"],
  },
  QUANTITY_BELOW_FILLED: {
    status: 422,
    problem: "The new quantity is not above the quantity that has been filled.",
    remedy: "Use a quantity above details.filled, or cancel the order.",
    groups: ["AMEND"],
  },
  CLIENT_ORDER_ID_REUSED: {
    status: 409,
    problem: "This clientOrderId belongs to an order with other terms.",
    remedy: "Use a new clientOrderId; details.orderId is the other order.",
    groups: ["PLACE"],
  },
  REFERENCE_REUSED: {
    status: 409,
    problem: "This reference belongs to another transfer, or to another change of margin.",
    remedy: "Use a new reference.",
    groups: ["MOVE_MARGIN", "DEPOSIT", "WITHDRAWAL"],
  },
  DEPOSIT_CAP: {
    status: 422,
    problem: "The deposit would exceed the faucet's cap per account and day, or the largest balance of an account.",
    remedy: "Deposit at most details.available.",
    groups: ["DEPOSIT"],
  },
  DEPOSIT_TOO_SMALL: {
    status: 422,
    problem: "The deposit is smaller than the exchange takes.",
    remedy: "Deposit at least details.limit.",
    groups: ["DEPOSIT"],
  },
  TOO_MANY_TRANSFERS: {
    status: 422,
    problem: "The account has too many withdrawals in progress, or all accounts together have too many transfers.",
    remedy: "Send the request again in some seconds; details.limit is the maximum.",
    retryable: true,
    groups: ["DEPOSIT", "WITHDRAWAL"],
  },
  INSUFFICIENT_BALANCE: {
    status: 422,
    problem: "The amount is more than can be withdrawn.",
    remedy: "Withdraw at most details.available.",
    groups: ["WITHDRAWAL"],
  },
  WITHDRAWALS_GATED: {
    status: 422,
    problem: "Nothing is paid out to anybody until the exchange can pay everybody.",
    remedy:
      "Try again after details.retryAfterMs. details.reason says why, and details has the equity and the positions of the " +
      "insurance fund, and what accounts below zero owe.",
    retryable: true,
    groups: ["WITHDRAWAL"],
  },
  ADDRESS_NOT_IN_BOOK: {
    status: 422,
    problem: "This exchange pays only to addresses of the account's address book, and this one is not in it.",
    remedy: "Use an address that GET /account/withdrawal-addresses lists, or add this one with a wallet session.",
    groups: ["WITHDRAWAL"],
  },
  ADDRESS_ON_HOLD: {
    status: 422,
    problem: "The address is too new in the account's address book.",
    remedy: "Try again after details.usableAt, in milliseconds since the epoch.",
    groups: ["WITHDRAWAL"],
  },
  ADDRESS_NOT_FOUND: {
    status: 404,
    problem: "The account has no such address in its address book.",
    remedy: "Use an address that GET /account/withdrawal-addresses lists.",
    groups: ["REMOVE_ADDRESS"],
  },
  TOO_MANY_ADDRESSES: {
    status: 422,
    problem: "The account already has the maximum number of addresses in its address book.",
    remedy: "Remove an address first; details.limit is the maximum.",
    groups: ["ADD_ADDRESS"],
  },
  KEY_NOT_FOUND: {
    status: 404,
    problem: "The account has no such API key.",
    remedy: "Use a key that GET /auth/keys lists.",
    groups: ["REVOKE_KEY"],
  },
  TOO_MANY_KEYS: {
    status: 422,
    problem: "The account already has the maximum number of API keys, and none of them has expired.",
    remedy: "Revoke a key first; details.limit is the maximum.",
    groups: ["CREATE_KEY"],
  },
  KEY_ORDER_LIMIT: {
    status: 403,
    problem: "The order's notional is above the API key's maxOrderNotional.",
    remedy: "Reduce the order to a notional of at most details.limit, or use another key.",
    groups: ["PLACE", "AMEND"],
  },
  KEY_POSITION_LIMIT: {
    status: 403,
    problem: "The position with its open orders would exceed the API key's maxPositionNotional.",
    remedy: "Reduce the order or use another key; details.limit is the largest notional.",
    groups: ["PLACE", "AMEND"],
  },
  KEY_LEVERAGE_LIMIT: {
    status: 403,
    problem: "The leverage is above the API key's maxLeverage.",
    remedy: "Lower the leverage to at most details.limit, or use another key.",
    groups: ["PLACE", "AMEND", "SET_LEVERAGE"],
  },
  TOO_MANY_ACCOUNTS: {
    status: 503,
    problem: "The exchange has no room for another account.",
    remedy: "Use an existing account, or ask the operator to raise maxAccounts.",
    groups: ["LOGIN"],
  },
} satisfies Record<RefusalCode, ErrorSpec>;
