import { account, accountFault, balance, equity, unrealizedPnl } from "../state/account.ts";
import { text } from "../text/catalogue.ts";
import { fixed, signed, tone, usd } from "../text/format.ts";
import { AccountActions } from "./account-dialogs.tsx";
import { isOpeningDemo, shortAddress, tryIt } from "./sign-in.ts";
import { WalletList } from "./wallet-list.tsx";
import { wallets } from "./wallets.ts";

/** The account that is signed in, and its money. */
export function AccountPanel() {
  const signedIn = account.value;
  return (
    <section class="panel account" aria-label={text.account}>
      <header class="panel-head">
        <h2>{text.account}</h2>
        {signedIn !== null && (
          <span class="tag" title={signedIn.address}>
            {signedIn.kind === "DEMO" ? text.demo : text.wallet} {shortAddress(signedIn.address)}
          </span>
        )}
      </header>
      {signedIn === null ? <SignedOut /> : <Money />}
    </section>
  );
}

export function TryItButton() {
  return (
    <button type="button" class="accent" disabled={isOpeningDemo.value} onClick={() => void tryIt()}>
      {isOpeningDemo.value ? text.opening : text.tryIt}
    </button>
  );
}

function SignedOut() {
  return (
    <div class="signed-out">
      <p>{text.tryItHint}</p>
      <TryItButton />
      {wallets.value.length > 0 && <p>{text.orWallet}</p>}
      <WalletList />
      {accountFault.value !== null && (
        <p class="note bad" role="alert">
          {accountFault.value}
        </p>
      )}
    </div>
  );
}

function Money() {
  const now = balance.value;
  const maintenance = Number(now?.maintenanceMargin ?? 0);
  const worth = equity.value;
  const ratio = worth === null || worth <= 0 ? null : maintenance / worth;
  const pnl = unrealizedPnl.value;
  return (
    <>
      <dl class="pairs">
        <div class="main">
          <dt>{text.equity}</dt>
          <dd class="num">{usd(worth)} USDC</dd>
        </div>
        <div>
          <dt>{text.walletBalance}</dt>
          <dd class="num">{usd(now?.walletBalance)}</dd>
        </div>
        <div>
          <dt>{text.unrealizedPnl}</dt>
          <dd class={`num ${tone(pnl)}`}>{signed(pnl)}</dd>
        </div>
        <div>
          <dt>{text.available}</dt>
          <dd class="num">{usd(now?.availableBalance)}</dd>
        </div>
        <div>
          <dt>{text.initialMargin}</dt>
          <dd class="num">{usd(now?.initialMargin)}</dd>
        </div>
        <div>
          <dt>{text.maintenanceMargin}</dt>
          <dd class="num">{usd(now?.maintenanceMargin)}</dd>
        </div>
        <div>
          <dt>{text.marginRatio}</dt>
          <dd class="num">{ratio === null ? "–" : `${fixed(100 * ratio, 2)}%`}</dd>
        </div>
      </dl>
      <meter
        class="ratio"
        aria-label={text.marginRatio}
        min={0}
        max={1}
        low={0.5}
        high={0.8}
        optimum={0}
        value={Math.min(1, ratio ?? 0)}
      />
      <AccountActions />
    </>
  );
}
