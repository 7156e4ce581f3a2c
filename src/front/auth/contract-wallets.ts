import { encodeAbiParameters, hashMessage } from "../../packages/viem.ts";
import { ApiError } from "../common/errors.ts";
import { networkOf } from "../http/addresses.ts";
import type { OperatorLog } from "../http/answer.ts";
import { ethereumCall, RpcError } from "./ethereum-rpc.ts";

export interface SignedMessage {
  /** Of the wallet that must have signed, in any case. */
  address: string;
  /** A contract wallet must be on this chain. */
  chainId: number;
  message: string;
  /** In hex. Of plain wallets 64 or 65 bytes, of contract wallets any number. */
  signature: string;
  /** Of the client. */
  remoteAddress: string;
}

interface ContractWalletOptions {
  /** An Ethereum node's JSON-RPC. It may hold a secret, so no error and no log line shows it. */
  rpcUrl: string;
  chainId: number;
  log: Pick<OperatorLog, "warn" | "info">;
  /** For tests. */
  timeLimitMs?: number;
}

/** Shorter than the time that a request waits for its answer. */
const TIME_LIMIT_MS = 3000;
const MAX_CALLS = 32;
/** A contract may use as much time as the node gives it. So one client gets few calls at a time. */
const MAX_CALLS_PER_CLIENT = 2;
/** A signature check costs some 10,000 to 1,000,000 gas. */
const MAX_GAS = "0x4c4b40";
/** isValidSignature(bytes32,bytes). The contract returns the same four bytes for a valid signature. */
const SELECTOR = "0x1626ba7e";
/** The whole answer. A contract that returns what it is called with, such as the precompile 0x04, is no wallet. */
const VALID = SELECTOR + "0".repeat(56);

/** Signatures of contract wallets (EIP-1271), which only the contract can check. Asks a node over the network. */
export class ContractWallets {
  readonly chainId: number;
  private readonly options: ContractWalletOptions;
  /** Calls in progress, by the network of the client. */
  private readonly callsOf = new Map<string, number>();
  private calls = 0;
  /** The node has said that it serves this chain. */
  private isRightChain = false;
  private isFailing = false;

  constructor(options: ContractWalletOptions) {
    this.options = options;
    this.chainId = options.chainId;
  }

  /**
   * Resolves to whether the contract at the address accepts the signature; false without a contract there. Rejects with
   * OVERLOADED or CHAIN_UNAVAILABLE when that cannot be known.
   */
  async accepts(signed: SignedMessage): Promise<boolean> {
    const client = networkOf(signed.remoteAddress);
    const ofClient = this.callsOf.get(client) ?? 0;
    if (ofClient >= MAX_CALLS_PER_CLIENT || this.calls >= MAX_CALLS)
      throw new ApiError("OVERLOADED", {
        message: "There are too many signatures of contract wallets to check at once. Try again after a moment.",
      });
    this.callsOf.set(client, ofClient + 1);
    this.calls++;
    try {
      return await this.ask(signed);
    } finally {
      this.calls--;
      const left = (this.callsOf.get(client) ?? 1) - 1;
      if (left > 0) this.callsOf.set(client, left);
      else this.callsOf.delete(client);
    }
  }

  private async ask({ address, message, signature }: SignedMessage): Promise<boolean> {
    const parameters = encodeAbiParameters(
      [{ type: "bytes32" }, { type: "bytes" }],
      [hashMessage(message), signature as `0x${string}`],
    );
    const call = { to: address, data: SELECTOR + parameters.slice(2), gas: MAX_GAS };
    const signal = AbortSignal.timeout(this.options.timeLimitMs ?? TIME_LIMIT_MS);
    try {
      await this.requireChain(signal);
      const result = await ethereumCall(this.options.rpcUrl, "eth_call", [call, "latest"], signal);
      this.noteSuccess();
      return result === VALID;
    } catch (error) {
      // The contract ran, and refused the signature in this way.
      if (error instanceof RpcError && error.isRevert) return false;
      this.noteFailure(error as Error);
      throw new ApiError("CHAIN_UNAVAILABLE");
    }
  }

  /** The contract at the same address of another chain may belong to somebody else. */
  private async requireChain(signal: AbortSignal): Promise<void> {
    if (this.isRightChain) return;
    const { rpcUrl, chainId } = this.options;
    const found = await ethereumCall(rpcUrl, "eth_chainId", [], signal);
    if (Number(found) !== chainId)
      throw new RpcError(`the node serves chain ${Number(found)}, and chainId is ${chainId}`);
    this.isRightChain = true;
  }

  private noteSuccess(): void {
    if (this.isFailing) this.options.log.info({}, "the Ethereum RPC works again");
    this.isFailing = false;
  }

  /** Logs the first of several failures. The node may serve another chain when it works again. */
  private noteFailure({ name, message }: Error): void {
    const reason = name === "TimeoutError" ? "it did not answer in time" : message;
    if (!this.isFailing)
      this.options.log.warn({ reason }, "the Ethereum RPC failed: contract wallets cannot be checked");
    this.isFailing = true;
    this.isRightChain = false;
  }
}
