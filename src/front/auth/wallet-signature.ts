import { ApiError } from "../common/errors.ts";
import type { ContractWallets, SignedMessage } from "./contract-wallets.ts";

/**
 * Resolves to the address that signed a message, or null when the signature is invalid. It takes milliseconds, so it runs in
 * the compute pool. Rejects when the queue of the pool is full.
 */
type RecoverAddress = (message: string, signature: string) => Promise<string | null>;

/** Half of the curve's order, in hex. Two signatures recover the same address; the one with the higher s is refused. */
const MAX_S = "7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0";

/** 0x and r, s and v in hex: 32, 32 and 1 bytes. */
const LENGTH = 132;
/** 0x and r, then s with the parity of v in its highest bit (EIP-2098). */
const COMPACT_LENGTH = 130;

/**
 * The signature of a plain wallet with 65 bytes. A compact one of 64 bytes (EIP-2098) is expanded. Null if its s is too high:
 * otherwise anybody could make a second signature from a first one.
 */
export function readSignature(text: string): string | null {
  const signature = text.length === COMPACT_LENGTH ? expand(text) : text;
  return signature.slice(66, 130).toLowerCase() <= MAX_S ? signature : null;
}

/** Checks signatures of wallets. */
export class WalletSignatures {
  private readonly recover: RecoverAddress;
  private readonly contracts: ContractWallets | null;

  /** `contracts` null: contract wallets are refused. */
  constructor(recover: RecoverAddress, contracts: ContractWallets | null = null) {
    this.recover = recover;
    this.contracts = contracts;
  }

  /** Resolves when the wallet has signed the message. Rejects with an ApiError. */
  async check(signed: SignedMessage): Promise<void> {
    const isPlain = signed.signature.length === LENGTH || signed.signature.length === COMPACT_LENGTH;
    const refusal = isPlain ? await this.refusalOf(signed) : badSignature(signed);
    if (refusal === null) return;
    const { contracts } = this;
    if (contracts === null) throw isPlain ? refusal : new ApiError("CONTRACT_WALLET_NOT_SUPPORTED", { field: FIELD });
    if (signed.chainId !== contracts.chainId)
      throw new ApiError("BAD_SIGNATURE", {
        ...{ field: FIELD, details: refusal.details ?? {} },
        message: `${refusal.message} A contract wallet must use chain ${contracts.chainId}.`,
      });
    if (!(await contracts.accepts(signed))) throw refusal;
  }

  /** Null if the signature is that of a plain wallet at the address. */
  private async refusalOf(signed: SignedMessage): Promise<ApiError | null> {
    const signature = readSignature(signed.signature);
    if (signature === null) return new ApiError("BAD_SIGNATURE", { field: FIELD, message: NOT_CANONICAL });
    const recovered = await this.signerOf(signed.message, signature);
    return recovered?.toLowerCase() === signed.address.toLowerCase() ? null : badSignature(signed, recovered);
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

const FIELD = "signature";
const NOT_CANONICAL =
  "The signature is not canonical: its s is above half of the curve order. Sign with a standard wallet.";

const badSignature = ({ address: expected }: SignedMessage, recovered: string | null = null): ApiError =>
  new ApiError("BAD_SIGNATURE", { field: FIELD, details: { recovered, expected } });

function expand(compact: string): string {
  const first = Number.parseInt(compact.slice(66, 68), 16);
  const s = (first & 0x7f).toString(16).padStart(2, "0") + compact.slice(68);
  return compact.slice(0, 66) + s + (first & 0x80 ? "1c" : "1b");
}
