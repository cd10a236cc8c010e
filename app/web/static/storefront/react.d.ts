/** `<gateway-payment>` in JSX, for React 19 and what stands on it: `import "saleor-gateway-payment/react"`. */
import type { DetailedHTMLProps, HTMLAttributes } from "react";
import type { GatewayPaymentAttributes, GatewayPaymentElement, GatewayPaymentEventMap } from "./gateway-payment.js";

export * from "./gateway-payment.js";

type Listeners = { [Name in keyof GatewayPaymentEventMap as `on${Name}`]?: (event: GatewayPaymentEventMap[Name]) => void };

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "gateway-payment": DetailedHTMLProps<HTMLAttributes<GatewayPaymentElement>, GatewayPaymentElement> &
        GatewayPaymentAttributes &
        Partial<Pick<GatewayPaymentElement, "customer" | "customerToken">> &
        Listeners;
    }
  }
}
