import type { PlaceOrder } from "../../../core/protocol/commands.ts";
import type { MessageOf } from "../../../core/protocol/message-schema.ts";

type Hashed = Pick<
  MessageOf<typeof PlaceOrder>,
  "side" | "orderType" | "timeInForce" | "flags" | "selfTradePrevention" | "priceTicks" | "quantityLots"
>;

/**
 * A 48-bit hash of the order's fields. It distinguishes a retry from another order with the same clientOrderId.
 * expiresAt is not hashed: it belongs to the request, and a retry may change it.
 */
export function hashOrder(order: Hashed): number {
  const words =
    order.side |
    (order.orderType << 1) |
    (order.timeInForce << 3) |
    (order.flags << 6) |
    (order.selfTradePrevention << 10);
  const high = mix(mix(mix(0x9747b28c, words), order.priceTicks), order.quantityLots);
  const low = mix(mix(mix(0x3c6ef372, order.quantityLots), order.priceTicks), words);
  return (high >>> 0) * 0x10000 + (low >>> 16);
}

/** A 48-bit hash of `hash` and of further fields. */
export function extendHash(hash: number, values: readonly number[]): number {
  const high = values.reduce(mix, mix(0x9747b28c, hash));
  const low = values.reduce(mix, mix(0x3c6ef372, hash));
  return (high >>> 0) * 0x10000 + (low >>> 16);
}

/** A step of MurmurHash3 for each 32-bit half of a safe integer, then half of its finalizer. */
function mix(hash: number, value: number): number {
  const once = step(step(hash, value | 0), Math.floor(value / 2 ** 32));
  const spread = Math.imul(once ^ (once >>> 16), 0x85ebca6b);
  return spread ^ (spread >>> 13);
}

function step(hash: number, word: number): number {
  const scrambled = Math.imul(word, 0xcc9e2d51);
  const mixed = hash ^ Math.imul((scrambled << 15) | (scrambled >>> 17), 0x1b873593);
  return (Math.imul((mixed << 13) | (mixed >>> 19), 5) + 0xe6546b64) | 0;
}
