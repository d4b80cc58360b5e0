cluster "c" {
  kubernetes_version = "1.36.3"
}

node "cp" {
  cluster = cluster.c
  role    = "control-plane"
  address = "10.0.0.1"
}

import {
  to = cluster.c
  id = "ssh://root@10.0.0.1"
}

import { # ERROR: Duplicate import
  to = cluster.c
  id = "ssh://10.0.0.1"
}

import { # ERROR: Nothing to import to
  to = node.cp
  id = "ssh://10.0.0.1"
}

import { # ERROR: Nothing to import to
  to = cluster.d
  id = "ssh://10.0.0.1"
}

cluster "other" {
  kubernetes_version = "1.36.3"
}

node "other" {
  cluster = cluster.other
  role    = "control-plane"
  address = "10.0.0.2"
}

import { # ERROR: Unknown host
  to = cluster.other
  id = "ssh://10.0.0.1"
}
