package ssh

import "golang.org/x/crypto/ssh"

// The offered algorithms, best first. None uses SHA-1; x/crypto's own defaults still have
// diffie-hellman-group14-sha1, ssh-rsa signatures and hmac-sha1. MACs are encrypt-then-mac
// only; chacha20 and AES-GCM need none. x/crypto does strict key exchange (CVE-2023-48795)
// if the other side does, but does not report it, so AES-GCM and AES-CTR, which Terrapin
// does not affect, precede chacha20.
var (
	keyExchanges = []string{
		ssh.KeyExchangeMLKEM768X25519,
		ssh.KeyExchangeCurve25519,
		ssh.KeyExchangeECDHP256,
		ssh.KeyExchangeECDHP384,
		ssh.KeyExchangeECDHP521,
		ssh.KeyExchangeDH16SHA512,
		ssh.KeyExchangeDH14SHA256,
	}
	ciphers = []string{
		ssh.CipherAES128GCM,
		ssh.CipherAES256GCM,
		ssh.CipherAES256CTR,
		ssh.CipherAES192CTR,
		ssh.CipherAES128CTR,
		ssh.CipherChaCha20Poly1305,
	}
	macs = []string{
		ssh.HMACSHA256ETM,
		ssh.HMACSHA512ETM,
	}
	hostKeyAlgorithms = []string{
		ssh.KeyAlgoED25519,
		ssh.KeyAlgoSKED25519,
		ssh.KeyAlgoECDSA256,
		ssh.KeyAlgoECDSA384,
		ssh.KeyAlgoECDSA521,
		ssh.KeyAlgoRSASHA512,
		ssh.KeyAlgoRSASHA256,
	}
	// hostCertAlgorithms are requested only if known_hosts has a CA for the host.
	hostCertAlgorithms = []string{
		ssh.CertAlgoED25519v01,
		ssh.CertAlgoECDSA256v01,
		ssh.CertAlgoECDSA384v01,
		ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01,
		ssh.CertAlgoRSASHA256v01,
	}
	// rsaSignatures are the signature algorithms for an RSA user key.
	rsaSignatures = []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
)
