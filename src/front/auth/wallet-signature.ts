import { ApiError } from "../common/errors.ts";

/**
 * Resolves to the address that signed a message, or null when the signature is invalid. It takes milliseconds, so it runs in
 * the compute pool. Rejects when the queue of the pool is full.
 */
export type RecoverAddress = (message: string, signature: string) => Promise<string | null>;

/** Half of the curve's order, in hex. Two signatures recover the same address; the one with the higher s is refused. */
const MAX_S = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";

/** 0x and r, s and v in hex: 32, 32 and 1 bytes. */
const LENGTH = 132;
/** 0x and r, then s with the parity of v in its highest bit (EIP-2098). */
const COMPACT_LENGTH = 130;

/**
 * A wallet's signature with 65 bytes. A compact one of 64 bytes (EIP-2098) is expanded. Throws BAD_SIGNATURE if its s is too
 * high: otherwise anybody could make a second signature from a first one.
 */
export function readSignature(text: string): string {
  const signature = text.length === COMPACT_LENGTH ? expand(text) : text;
  if (signature.length === LENGTH && signature.slice(66, 130).toLowerCase() <= MAX_S) return signature;
  throw new ApiError("BAD_SIGNATURE", {
    field: "signature",
    message: "The signature is not canonical: its s is above half of the curve order. Sign with a standard wallet.",
  });
}

export interface SignedMessage {
  /** Of the wallet that must have signed, in any case. */
  address: string;
  message: string;
  signature: string;
}

/** Checks signatures of wallets. */
export class WalletSignatures {
  private readonly recover: RecoverAddress;

  constructor(recover: RecoverAddress) {
    this.recover = recover;
  }

  /** Resolves when the wallet has signed the message. Rejects with BAD_SIGNATURE or OVERLOADED. */
  async check({ address, message, signature }: SignedMessage): Promise<void> {
    const recovered = await this.signerOf(message, readSignature(signature));
    if (recovered?.toLowerCase() === address.toLowerCase()) return;
    throw new ApiError("BAD_SIGNATURE", { field: "signature", details: { recovered, expected: address } });
  }

  private async signerOf(message: string, signature: string): Promise<string | null> {
    try {
      return await this.recover(message, signature);
    } catch {
      throw new ApiError("OVERLOADED", {
        message: "There are too many signatures to check at once. Send the same request again after a moment.",
      });
    }
  }
}

function expand(compact: string): string {
  const first = Number.parseInt(compact.slice(66, 68), 16);
  const s = (first & 0x7f).toString(16).padStart(2, "0") + compact.slice(68);
  return compact.slice(0, 66) + s + (first & 0x80 ? "1c" : "1b");
}
